"""torch's address of the same."""

from minitorch_dist.distributed.elastic.metrics import (
    ConsoleMetricHandler as ConsoleMetricHandler,
    MetricData as MetricData,
    MetricHandler as MetricHandler,
    MetricsConfig as MetricsConfig,
    MetricStream as MetricStream,
    NullMetricHandler as NullMetricHandler,
    configure as configure,
    get_elapsed_time_ms as get_elapsed_time_ms,
    getStream as getStream,
    prof as prof,
    put_metric as put_metric,
)
