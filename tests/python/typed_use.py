"""What type checkers know of the package where it is used: tools/test-wheel checks this file, and nothing runs it."""
from typing import List, Optional

import hone
from hone.fields import LateRank

analysis = hone.explain("trace.json.gz", top=3, steps=(12, 15))
times: List[float] = [row.ms for row in analysis.ledger]
median: float = analysis.operators[0].ms.median
late: Optional[LateRank] = analysis.late_rank
analysis.verdikt  # type: ignore[attr-defined]
hone.explain(3)  # type: ignore[arg-type]
hone.explain("trace.json.gz", steps="12-15")  # type: ignore[arg-type]

with hone.record(steps=5) as recording:
    recording.step()
verdict: str = recording.explain().verdict
change: str = hone.gate.paired(lambda: None, ["true"]).change
