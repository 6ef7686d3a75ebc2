"""PTX texts with one fault each: a barrier taken out, or a guard of an access to global memory.

A mutant keeps the number of lines, so that what is found in it has the lines of the original.
"""

import collections
import dataclasses
import re

BARRIER = re.compile(r"^\s*(@!?%p\d+\s+)?(bar|barrier)(\.cta)?\.sync\b[^;]*;")
BRANCH = re.compile(r"^\s*@(!?)(%p\d+)\s+bra(?:\.uni)?\s+(\$?\w+)\s*;")
JUMP = re.compile(r"^\s*bra(?:\.uni)?\s+(\$?\w+)\s*;")
LABEL = re.compile(r"^\s*(\$?\w+):")
ENDING = re.compile(r"^\s*(ret|exit|trap)\b")
GLOBAL = re.compile(
    r"^\s*(@!?%p\d+\s+)?(?:ld|st|atom|red|cp\.async)\b[^;]*\.global\b(?!.*\.tensor)[^;]*;"
)
GUARDED = re.compile(r"^(\s*)(@!?%p\d+)(\s+)")
ENTRY = re.compile(r"\.entry\s+(\w+)\(")


@dataclasses.dataclass(frozen=True)
class Mutant:
    """A faulty text, and where it differs from the right one."""

    entry: str
    line: int  # of the PTX text, from 1
    source_line: int | None
    order: int  # among the mutants of the entry
    what: str
    original: tuple[str, ...] = dataclasses.field(repr=False)  # the lines that all mutants share
    instead: str

    @property
    def text(self):
        """The faulty text, which is made when it is asked for: a kernel may have 1,000 mutants."""
        lines = [*self.original[: self.line - 1], self.instead, *self.original[self.line :]]
        return "\n".join(lines) + "\n"

    @property
    def label(self):
        return f"{self.entry}:{self.source_line}:{self.order}"

    @property
    def names(self):
        """What a table may call it."""
        return {self.label, f"{self.entry}:{self.source_line}"}


def entries_of(text):
    """{entry: (index of its first line, index behind its last)}, of lines counted from 0."""
    found, name, depth = {}, None, 0  # of braces: assembly inside a kernel has some of its own
    for index, line in enumerate(text.splitlines()):
        if match := ENTRY.search(line):
            name, start = match[1], index
        depth += line.count("{") - line.count("}")
        if name is not None and depth == 0 and line.startswith("}"):
            found[name] = (start, index + 1)
            name = None
    return found


def keep_entries(text, spans, entries):
    """The text without other entries, which take time to read. spans: entries_of the original."""
    lines, kept, end = text.splitlines(), [], 0
    for name, (start, stop) in spans.items():
        if name not in entries:
            kept += lines[end:start]
            end = stop
    return "\n".join([*kept, *lines[end:]]) + "\n"


def source_lines(lines):
    """The source line that each line of PTX belongs to; where code was inlined, the caller's."""
    current, out = None, []
    for line in lines:
        if match := re.match(r"\s*\.loc\s+\d+ (\d+)", line):
            outer = re.findall(r"inlined_at \d+ (\d+)", line)
            current = int(outer[-1] if outer else match[1])
        out.append(current)
    return out


class Builder:
    """Makes mutants of one text."""

    def __init__(self, text):
        self.lines = tuple(text.splitlines())
        self.sources = source_lines(self.lines)
        self.made = collections.Counter()  # by entry

    def build(self, index, entry, instead):
        """The mutant whose line `index` is another."""
        order = self.made[entry]
        self.made[entry] += 1
        what = self.lines[index].strip()
        return Mutant(entry, index + 1, self.sources[index], order, what, self.lines, instead)


def remove_barriers(text):
    """One mutant for each barrier of each entry."""
    builder, mutants = Builder(text), []
    for entry, (start, stop) in entries_of(text).items():
        for index in range(start, stop):
            if BARRIER.match(builder.lines[index]):
                mutants.append(builder.build(index, entry, ""))
    return mutants


class Flow:
    """Straight pieces of an entry's code, and who follows whom."""

    def __init__(self, lines, start, stop):
        self.lines = lines
        heads, label_at = {start}, {}
        for index in range(start, stop):
            if match := LABEL.match(lines[index]):
                label_at[match[1]] = index
                heads.add(index)
            if BRANCH.match(lines[index]) or JUMP.match(lines[index]):
                heads.add(index + 1)
        self.heads = sorted(head for head in heads if head < stop)
        ends = [*self.heads[1:], stop]
        self.piece_of = {}
        for head, end in zip(self.heads, ends, strict=True):
            self.piece_of |= dict.fromkeys(range(head, end), head)
        self.end_of = dict(zip(self.heads, ends, strict=True))
        self.next = {head: self.follow(head, stop, label_at) for head in self.heads}

    def follow(self, head, stop, label_at):
        """The pieces that may come after one: where it jumps to, and where it falls through."""
        following = []
        for index in range(head, self.end_of[head]):
            if match := BRANCH.match(self.lines[index]):
                following.append(label_at[match[3]])
            elif match := JUMP.match(self.lines[index]):
                return [label_at[match[1]]]
            elif ENDING.match(self.lines[index]):
                return following
        end = self.end_of[head]
        return [*following, end] if end < stop else following

    def reach(self, first, without=None):
        """All pieces that can follow `first` (itself among them), not using the edge `without`."""
        seen, todo = {first}, [first]
        while todo:
            piece = todo.pop()
            for following in self.next[piece]:
                if (piece, following) != without and following not in seen:
                    seen.add(following)
                    todo.append(following)
        return seen

    def guarded_accesses(self, start, edge):
        """Lines of accesses to global memory that can only be reached over an edge."""
        free = self.reach(start, without=edge)
        behind = self.reach(edge[1]) - free
        return [
            index
            for piece in sorted(behind)
            for index in range(piece, self.end_of[piece])
            if GLOBAL.match(self.lines[index])
        ]


def open_branch(flow, start, index):
    """The line in place of a branch that lets all threads to the accesses it guards, or None."""
    match = BRANCH.match(flow.lines[index])
    piece = flow.piece_of[index]
    following = flow.next[piece]
    if len(set(following)) < 2:
        return None
    target, through = following
    for side, other in ((through, target), (target, through)):
        if not flow.guarded_accesses(start, (piece, side)):
            continue
        if (piece in flow.reach(side)) != (piece in flow.reach(other)):
            continue  # a loop's way round or out: without a choice it would end at once or never
        return "" if side == through else f"bra {match[3]};"
    return None


def remove_guards(text):
    """One mutant for each branch round, and each predicate of, an access to global memory."""
    builder, mutants = Builder(text), []
    lines = builder.lines
    for entry, (start, stop) in entries_of(text).items():
        flow = Flow(lines, start, stop)
        for index in range(start, stop):
            line = None
            if BRANCH.match(lines[index]):
                line = open_branch(flow, start, index)
            elif GLOBAL.match(lines[index]) and GUARDED.match(lines[index]):
                line = GUARDED.sub(r"\1", lines[index], count=1)
            if line is not None:
                mutants.append(builder.build(index, entry, line))
    return mutants
