"""`python -m mutations`: put small faults into the code, one at a time, and see whether a test fails.

    choose   choose which mutations are tried, into mutations/listed.jsonl; those that are listed stay
    record   run the tests once, and note which lines and scripts each of them runs
    run      try each mutation with the tests that run it; goes on where it was stopped
    report   print what became of them; fails where a mutation is noticed no more, or survives without a reason
    keep     write the verdicts into the list
    follow   after code was moved or renamed: write the names that the mutations have now into the list

Without a word: record where that is not done yet for this commit, run, report. What is found is kept in .data/mutations,
in a folder for each commit.
"""

import argparse
import queue
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path

from mutations.choosing import chosen, same_test
from mutations.covering import Recorded
from mutations.listing import (
    Listed,
    all_mutations,
    choose,
    listed_from,
    names_in_scripts,
    read_list,
    write_list,
)
from mutations.matching import Match, find_again
from mutations.report import MISSED, Outcome, found_in_other_words, report
from mutations.running import HERE, Copy, Result, judge
from mutations.state import State

SHARE = 0.3
"""How much of its time a mutation's tests may take as recorded; the rest is for starting, and for a busy machine."""

MOST_CASES = 10
"""Cases of a test that are tried where the one that caught a mutation has got another name."""


def main() -> int:
    """Do what the command line says."""
    options = _parser().parse_args()
    state = State(options.root.resolve())
    if options.what == "choose":
        listed = {each.name: each for each in [*choose(state.root, options.seed), *read_list()]}
        write_list(listed.values())
        return 0
    if options.what == "record" or (
        options.what in {"all", "run"} and not (options.tests or options.known) and not state.is_recorded
    ):
        state.record(options.processes)
    if options.what == "record":
        return 0
    matches = find_again(read_list(), all_mutations(state.root), names_in_scripts(state.root))
    if options.what == "follow":
        write_list(_followed(match) for match in matches)
        print(found_in_other_words(matches))
        return 0
    if options.what in {"all", "run"}:
        run(state, [match for match in matches if _is_wanted(match, state, options)], options)
    results = state.results()
    outcomes = [
        Outcome(match, results.get(match.mutation.place) if match.mutation else None) for match in matches
    ]
    if options.what == "keep":
        write_list(_kept(outcome) for outcome in outcomes)
        return 0
    print(report(outcomes, state.root))
    return int(any(outcome.is_lost or outcome.is_open for outcome in outcomes))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m mutations", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "what",
        nargs="?",
        default="all",
        choices=["all", "choose", "record", "run", "report", "keep", "follow"],
    )
    parser.add_argument("--root", type=Path, default=HERE, help="another checkout than this one")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=60.0, help="the most that one mutation may take")
    parser.add_argument("--seed", type=int, default=1, help="which mutations `choose` takes")
    parser.add_argument("--only", default="", help="try those again that have this in their name")
    parser.add_argument(
        "--again", default="", help="try those again that ended like this, such as `survived`"
    )
    parser.add_argument(
        "--known",
        action="store_true",
        help="run only the test that caught it before: fast, and nothing is recorded",
    )
    parser.add_argument(
        "--tests", nargs="+", default=[], help="tests to run instead of those that were recorded"
    )
    return parser


def _is_wanted(match: Match, state: State, options: argparse.Namespace) -> bool:
    if not match.mutation or (options.known and not match.listed.by):
        return False
    if options.only:
        return options.only in match.mutation.place
    known = state.results().get(match.mutation.place)
    return known is None or known.verdict == options.again


def run(state: State, matches: Sequence[Match], options: argparse.Namespace) -> None:
    """Try mutations, a few at the same time, each in a copy of its own."""
    recorded = None if options.tests or options.known else Recorded(state.root, state.recorded)
    there = state.tests() if options.known else []
    copies: queue.SimpleQueue[Copy] = queue.SimpleQueue()
    for number in range(options.processes):
        copies.put(Copy(state.root, state.folder / f"copy-{number}"))

    def attempt(match: Match) -> Result:
        assert match.mutation
        tests = options.tests or same_test(match.listed.by, there)[:MOST_CASES]
        if recorded:
            covering = recorded.covering(match.mutation)
            tests = chosen(covering, recorded.seconds, options.seconds * SHARE, first=match.listed.by)
        copy = copies.get()
        try:
            return judge(copy, match.mutation, tests, options.seconds)
        finally:
            copies.put(copy)

    pool = ThreadPoolExecutor(options.processes)
    try:
        for number, done in enumerate(
            as_completed([pool.submit(attempt, match) for match in matches]), start=1
        ):
            result = done.result()
            state.add(result)
            print(
                f"{time.strftime('%H:%M:%S')} {number}/{len(matches)} {result.verdict}: {result.place}",
                flush=True,
            )
    finally:
        pool.shutdown(cancel_futures=True)


def _followed(match: Match) -> Listed:
    """Give the list's line under the name that the mutation has now, with what became of it before."""
    known, mutation = match.listed, match.mutation
    if not mutation:
        return known
    now = listed_from(known.area, mutation)
    return replace(now, verdict=known.verdict, by=known.by, reason=known.reason)


def _kept(outcome: Outcome) -> Listed:
    """Give the list's line with what was found out now, under the name that the mutation has now."""
    known, mutation, result = outcome.listed, outcome.match.mutation, outcome.result
    if not mutation:
        return replace(known, verdict="gone")
    if not result:
        return known
    reason = known.reason if result.verdict in MISSED else ""
    return replace(listed_from(known.area, mutation), verdict=result.verdict, by=result.by, reason=reason)


if __name__ == "__main__":
    sys.exit(main())
