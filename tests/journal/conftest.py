"""Every test has a job's key of its own, also in the processes it starts."""

from tests.distributed.conftest import job_key as job_key
