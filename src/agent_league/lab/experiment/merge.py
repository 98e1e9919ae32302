"""Merging the shards of an experiment: folders with a part each become one with all of it."""

from collections.abc import Sequence
from pathlib import Path

from agent_league.errors import UserError
from agent_league.lab.experiment.experiment import ExperimentResults
from agent_league.lab.experiment.folder import SHARD_FACT, open_folder, read_folder
from agent_league.lab.experiment.plan import Shard
from agent_league.lab.experiment.resolution import ResolvedExperiment
from agent_league.lab.experiment.row_store import DATABASE_NAME, RowStore
from agent_league.lab.experiment.running import FINISHED_FACT


def merge_shards(folders: Sequence[Path], out: Path) -> ExperimentResults:
    """Write the games of all shards into a new folder; raises UserError unless they are one whole experiment."""
    if (out / DATABASE_NAME).exists():
        raise UserError(f"{out} holds games already; name a new folder with --out")
    if doubled := [folder for place, folder in enumerate(folders) if folder in folders[:place]]:
        raise UserError(f"{doubled[0]} is named twice; name each folder once")
    resolved = read_folder(folders[0])
    found = {folder: _check_folder(folder, folders[0], resolved) for folder in folders}
    _check_whole(found)
    with open_folder(resolved, out) as store:
        try:
            for folder in folders:
                store.copy_from(folder / DATABASE_NAME)
            with store:
                store.write_fact(FINISHED_FACT, "yes")
        except BaseException:
            (out / DATABASE_NAME).unlink(missing_ok=True)
            raise
    return ExperimentResults(out, resolved)


def _check_folder(folder: Path, first: Path, resolved: ResolvedExperiment) -> Shard:
    """Return which shard a folder holds; raises UserError if it is of another experiment, or isn't finished."""
    if not (folder / DATABASE_NAME).is_file():
        raise UserError(f"{folder} holds no games: there is no {DATABASE_NAME} in it")
    own = read_folder(folder)
    if own.content_hash != resolved.content_hash:
        names = f"{own.file.name!r}, {first} of {resolved.file.name!r}"
        raise UserError(f"{folder} is of another experiment than {first}: their hashes differ ({folder} is of {names})")
    plan, is_stopped = resolved.plan, resolved.file.stop is not None
    with RowStore.open(folder / DATABASE_NAME, plan) as store:
        shard = Shard.parse(store.read_fact(SHARD_FACT) or "1/1")
        if is_stopped and store.read_fact(FINISHED_FACT) == "yes":
            return shard
        settled = plan.mark_others(shard, whole_matchups=is_stopped)
        wanted = settled.count(0)
        store.mark_played_meetings(settled)
    if missing := settled.count(0):
        first_missing = plan.describe_meeting(settled.find(0))
        what = f"{missing} of {wanted} meetings are missing, the first: {first_missing}"
        raise UserError(f"{folder} isn't finished: {what}. Start shard {shard} again, it goes on")
    return shard


def _check_whole(found: dict[Path, Shard]) -> None:
    """Raise UserError if the folders aren't all shards of one number, each once."""
    first, shard = next(iter(found.items()))
    by_index: dict[int, Path] = {}
    for folder, own in found.items():
        if own.count != shard.count:
            raise UserError(f"{folder} holds shard {own}, but {first} shard {shard}: the numbers of shards differ")
        if own.index in by_index:
            raise UserError(f"{folder} and {by_index[own.index]} both hold shard {own}; name one of them")
        by_index[own.index] = folder
    missing = [str(Shard(index, shard.count)) for index in range(1, shard.count + 1) if index not in by_index]
    if missing:
        some = ", ".join(missing[:10]) + (" and more" if len(missing) > 10 else "")
        raise UserError(f"shard {some} is missing: name its folder, or play it with --shard {missing[0]}")
