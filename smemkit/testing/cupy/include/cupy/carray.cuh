// Arrays and loops of the kernels that ElementwiseKernel and ReductionKernel make: CArray, CIndexer, and types that CUDA
// C has no short names for.
#pragma once

#include <stddef.h>
#include <stdint.h>

// The elements of an array by their number in C order, or by an index for each axis.
template <typename T, int axes> class CArray {
  public:
    static const int ndim = axes;

    __device__ ptrdiff_t size() const { return size_; }
    __device__ const ptrdiff_t *shape() const { return shape_; }
    __device__ const ptrdiff_t *strides() const { return strides_; }
    __device__ T *begin_ptr() const { return data_; }

    __device__ T &operator[](ptrdiff_t i) const
    {
        char *element = (char *)data_;
        for (int axis = axes; --axis > 0;) {
            element += strides_[axis] * (i % shape_[axis]);
            i /= shape_[axis];
        }
        return *(T *)(axes > 0 ? element + strides_[0] * i : element);
    }

    template <typename Int> __device__ T &operator[](const Int *index) const
    {
        char *element = (char *)data_;
        for (int axis = 0; axis < axes; axis++) {
            element += strides_[axis] * (ptrdiff_t)index[axis];
        }
        return *(T *)element;
    }

  private:
    T *data_;
    ptrdiff_t size_;
    ptrdiff_t shape_[axes > 0 ? axes : 1];
    ptrdiff_t strides_[axes > 0 ? axes : 1];
};

// The number of elements of a loop, and the index of the present one.
template <int axes> class CIndexer {
  public:
    static const int ndim = axes;

    __device__ ptrdiff_t size() const { return size_; }
    __device__ const ptrdiff_t *shape() const { return shape_; }
    __device__ const ptrdiff_t *get() const { return index_; }

    __device__ void set(ptrdiff_t i)
    {
        for (int axis = axes; --axis > 0;) {
            index_[axis] = i % shape_[axis];
            i /= shape_[axis];
        }
        index_[0] = i;
    }

  private:
    ptrdiff_t size_;
    ptrdiff_t shape_[axes > 0 ? axes : 1];
    ptrdiff_t index_[axes > 0 ? axes : 1];
};
