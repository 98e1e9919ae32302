"""An experiment as Python knows it: `Experiment` plays it, `ExperimentResults` reads what is in its folder."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from agent_league.errors import UserError
from agent_league.lab.experiment.calls import CallSettings
from agent_league.lab.experiment.contestants import PlayerKind
from agent_league.lab.experiment.engine_choice import PROCESSES, choose_engine
from agent_league.lab.experiment.engines import Engine
from agent_league.lab.experiment.folder import open_folder, read_folder, write_games_csv
from agent_league.lab.experiment.plan import Shard
from agent_league.lab.experiment.ray_cluster import Remark
from agent_league.lab.experiment.resolution import ResolvedExperiment, resolve_data, resolve_file
from agent_league.lab.experiment.row_store import DATABASE_NAME, RowStore
from agent_league.lab.experiment.rows import GameRow
from agent_league.lab.experiment.running import ExperimentRun, ProgressListener

if TYPE_CHECKING:
    from agent_league.lab.experiment.summary import ExperimentSummary


class Experiment:
    """Every pair of players, in every game, with every seed, on both sides.

    The arguments are the settings of an experiment's file; `home` is the folder that paths of players are relative to.
    Raises ConfigError if a game or player is wrong.
    """

    def __init__(
        self,
        *,
        games: Sequence[str | Mapping[str, Any]],
        players: Sequence[str | Mapping[str, Any]],
        seeds: int | Sequence[int | str],
        home: Path | str = ".",
        **settings: Any,
    ) -> None:
        given = {"games": games, "players": players, "seeds": seeds}
        lists = {name: value if isinstance(value, int | str) else list(value) for name, value in given.items()}
        self.resolved = resolve_data({**lists, **settings}, Path(home).absolute())

    @classmethod
    def from_file(cls, path: Path | str, *, full: bool = False) -> Self:
        """Read an experiment's TOML file; with `full`, each meeting is a whole league. Raises ConfigError."""
        made = cls.__new__(cls)
        made.resolved = resolve_file(Path(path), full=full)
        return made

    @property
    def name(self) -> str:
        return self.resolved.file.name

    def run(
        self,
        out: Path | str,
        *,
        jobs: int = 1,
        on: str = PROCESSES,
        shard: Shard | None = None,
        watch: ProgressListener = lambda _: None,
        remark: Remark = lambda _: None,
        calls: CallSettings | None = None,
        engine: Engine | None = None,
    ) -> "ExperimentResults":
        """Play what is missing in the folder `out`, and return what is there.

        `on` is where: "processes" of this machine, "ray" or "ray=ADDRESS"; `engine` is one of your own. With several
        `jobs` the calling script must be importable without playing. Interrupted, it keeps what is finished; called
        again, it goes on. `watch` is told how far it is, and `remark` what a person should know; `calls` is how players
        at addresses are called, which always happens in this process. Raises UserError if the folder holds another
        experiment.
        """
        folder, players = Path(out), self.resolved.plan.players
        engines: list[tuple[Engine, bool]] = [(engine or choose_engine(on, jobs, players, remark), False)]
        with open_folder(self.resolved, folder, shard) as store:
            if self.resolved.plan.find_called_matchups():
                from agent_league.lab.experiment.address_engine import AddressEngine  # noqa: PLC0415 - it loads HTTP

                has_addresses = any(player.kind is PlayerKind.ADDRESS for player in players)
                engines.append((AddressEngine(calls or CallSettings(), remark, has_addresses=has_addresses), True))
            for sentence in ExperimentRun(self.resolved, store, engines, shard, watch, remark).play():
                remark(sentence)
        return ExperimentResults(folder, self.resolved)


class ExperimentResults:
    """What the folder of an experiment holds."""

    def __init__(self, folder: Path | str, resolved: ResolvedExperiment | None = None) -> None:
        self.folder = Path(folder)
        self.resolved = resolved or read_folder(self.folder)
        self._summary: ExperimentSummary | None = None

    @property
    def summary(self) -> "ExperimentSummary":
        """Scores, ratings, learning and cost; computed once."""
        if self._summary is None:
            from agent_league.lab.experiment.summary import summarise_experiment  # noqa: PLC0415 - it loads numpy

            with self._open_store() as store:
                self._summary = summarise_experiment(self.resolved, store)
        return self._summary

    def rows(self) -> Iterator[GameRow]:
        """Yield every game in order, without holding them."""
        with self._open_store() as store:
            yield from store.read_rows()

    def write_csv(self) -> Path:
        """Write `games.csv`, without times: two runs of one file give equal bytes."""
        with self._open_store() as store:
            return write_games_csv(store, self.folder)

    def write_report(self) -> list[Path]:
        """Write the report: Markdown, HTML, charts and tables."""
        from agent_league.lab.experiment.report import write_report  # noqa: PLC0415 - it loads numpy and templates

        return write_report(self.summary, self.folder)

    def _repr_markdown_(self) -> str:
        """Show the report in a notebook."""
        from agent_league.lab.experiment.report import render_tables  # noqa: PLC0415 - as above

        return render_tables(self.summary)

    @contextmanager
    def _open_store(self) -> Iterator[RowStore]:
        path = self.folder / DATABASE_NAME
        if not path.is_file():
            raise UserError(f"{self.folder} holds no games: there is no {DATABASE_NAME} in it")
        with RowStore.open(path, self.resolved.plan) as store:
            yield store
