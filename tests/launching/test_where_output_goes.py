"""Where the output of workers goes, under torch's names."""

from __future__ import annotations

from minitorch_dist.distributed.elastic.multiprocessing import DefaultLogsSpecs, Std


def test_where_output_goes_under_torchs_name() -> None:
    specs = DefaultLogsSpecs("logs", redirects=Std.OUT, tee={0: Std.ERR}, local_ranks_filter=[0, 2])
    assert (specs.log_dir, specs.redirects, specs.tee) == ("logs", Std.OUT, {0: Std.ERR})
    assert specs.local_ranks == {0, 2}
    assert DefaultLogsSpecs().local_ranks is None
