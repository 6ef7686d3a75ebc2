"""The command info: the build, and the machines that it finds."""

import smemkit


def run(chosen):
    """Prints how smemkit was built and which machines it finds, then the facts of each."""
    try:
        smemkit.show_config()
    except smemkit.Error as error:  # SMEMKIT_BACKEND names a machine that is missing: see below
        print(f"backend: {error}")
    for backend in ("cuda", "sim"):
        try:
            facts = smemkit.device_info(backend=backend)
        except smemkit.BackendError as error:
            print(f"\n{backend}: {error}")
            continue
        print(f"\n{backend}:")
        width = max(map(len, facts))
        for name, value in facts.items():
            print(f"  {name:{width}}  {value}")
    return 0


def add_command(commands):
    """Adds the command to the subparsers of the main parser."""
    parser = commands.add_parser("info", help="how smemkit was built, and the machines it finds")
    parser.set_defaults(run=run)
