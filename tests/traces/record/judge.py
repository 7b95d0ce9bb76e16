"""Judges what hone says of recorded programs: is the verdict the cause that was planted, and how far is the gain that
it promises from what the repair really won.

judge.py HONE DIR [FILE.json]: over the programs that record.py left in DIR. Prints a table; FILE.json gets the same as
data. A program whose repair wins less than LEAST of its step has no fault on that machine, and is not counted.
"""
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

LEAST, A_QUARTER = 0.06, 0.25


def explained(hone, traces):
    with tempfile.NamedTemporaryFile(suffix=".json") as answer:
        ran = subprocess.run([hone, "explain", "--json", answer.name, *map(str, traces)], capture_output=True, text=True)
        if ran.returncode not in (0, 3):
            sys.exit(f"{traces[0]}: hone explain failed: {ran.stderr.strip()}")
        return json.loads(Path(answer.name).read_text())


def promised_ms(answer, cause):
    """Of the first finding with that cause; of its row, where it has none."""
    for rows in (answer["findings"], answer["ledger"]):
        for row in rows:
            if row["cause"] == cause:
                return row["predicted_gain_ms"] or 0.0  # null: none is predicted
    return 0.0


def judged(hone, facts_file):
    facts = json.loads(facts_file.read_text())
    name, cause, times = facts["program"], facts["cause"], facts["step_ms"]
    answer = explained(hone, sorted(facts_file.parent.glob(f"{name}.fault.*json.gz")))
    fault, repaired = times["fault"], times["repaired"]
    row = {"program": name, "planted": cause, "verdict": answer["verdict"],
           "recorded_step_ms": answer["step"]["median_ms"],
           "unrecorded_step_predicted_ms": answer["metrics"].get("unrecorded_step_ms"),
           "unrecorded_step_ms": fault["median"], "unrecorded_step_least_ms": min(fault["blocks"]),
           "unrecorded_step_most_ms": max(fault["blocks"]), "unrecorded_repaired_step_ms": repaired["median"],
           "unrecorded_repaired_step_least_ms": min(repaired["blocks"]),
           "unrecorded_repaired_step_most_ms": max(repaired["blocks"]), "drift": min(facts.get("drift_of_attempts", []), default=None)}
    if cause == "healthy":
        return row
    real = fault["median"] - repaired["median"]
    if real < LEAST * fault["median"]:
        return row | {"real_gain_ms": real, "no_fault_on_this_machine": True}
    promised = promised_ms(answer, cause)
    return row | {"predicted_gain_ms": promised, "real_gain_ms": real,
                  "within_a_quarter": abs(promised - real) <= A_QUARTER * real}


def summary(rows):
    counted = [row for row in rows if not row.get("no_fault_on_this_machine")]
    errors = [abs(row["predicted_gain_ms"] / row["real_gain_ms"] - 1) for row in counted if "predicted_gain_ms" in row]
    return {"programs": len(counted), "verdicts": sum(row["verdict"] == row["planted"] for row in counted),
            "gains": len(errors), "gains_within_a_quarter": sum(error <= A_QUARTER for error in errors),
            "median_error_of_a_gain": round(statistics.median(errors), 3) if errors else None}


def line(row):
    if row.get("no_fault_on_this_machine"):
        gain = "no fault here"
    elif "predicted_gain_ms" in row:
        gain = f"{row['predicted_gain_ms']:8.2f} for {row['real_gain_ms']:8.2f} " \
               f"{100 * (row['predicted_gain_ms'] / row['real_gain_ms'] - 1):+5.0f} %"
    else:
        gain = ""
    return f"{row['program']:38} {row['planted']:19} {row['verdict']:19} {row['unrecorded_step_ms']:9.2f} " \
           f"{row['unrecorded_repaired_step_ms']:9.2f} {gain}"


def main():
    hone, folder = sys.argv[1], Path(sys.argv[2])
    rows = [judged(hone, facts) for facts in sorted(folder.glob("*.facts.json"))]
    print(f"{'program':38} {'planted':19} {'verdict':19} {'fault':>9} {'repaired':>9} gain, ms: promised for real")
    print("\n".join(map(line, rows)))
    print(summary(rows))
    if len(sys.argv) > 3:
        rounded = [{key: round(value, 3) if isinstance(value, float) else value for key, value in row.items()}
                   for row in rows]
        Path(sys.argv[3]).write_text(json.dumps({"summary": summary(rows), "programs": rounded}, indent=1) + "\n")


if __name__ == "__main__":
    main()
