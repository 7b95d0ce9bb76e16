"""A small part of a database of Nsight Systems as rows of text, a seed for fuzzing: nsys_rows.py FILE.sqlite[.gz] [ROWS]

The first ROWS rows of each table and the strings that they name, in the form that src/trace/testing/nsys_rows.h reads.
"""
import gzip
import sqlite3
import sys
import tempfile

READ = ("PROCESSES", "ThreadNames", "NVTX_EVENTS", "ENUM_CUDA_MEM_KIND", "TARGET_INFO_GPU", "TARGET_INFO_CUDA_DEVICE",
        "TARGET_INFO_SESSION_START_TIME", "DIAGNOSTIC_EVENT")
NAMES = ("demangledName", "shortName", "mangledName", "nameId", "textId")
COLUMNS = """start end deviceId streamId globalPid globalTid correlationId gridX gridY gridZ blockX blockY blockZ
registersPerThread staticSharedMemory dynamicSharedMemory graphNodeId graphId bytes copyKind srcKind dstKind syncType eventType
text endGlobalTid id label name pid totalMemory smCount computeMajor computeMinor gpuId cudaId utcEpochNs severity""".split()


def written(value):
    if value is None:
        return ""
    if isinstance(value, int):
        return str(value)
    return f"~{value}" if isinstance(value, float) else '"' + str(value).replace("\t", " ").replace("\n", " ")


def main():
    path, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 12
    with tempfile.NamedTemporaryFile(suffix=".sqlite") as copy:
        opened = gzip.open(path) if path.endswith(".gz") else open(path, "rb")
        copy.write(opened.read())
        copy.flush()
        database = sqlite3.connect(copy.name)
        database.row_factory = sqlite3.Row
        tables = [row["name"] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        named = set()
        for table in tables:
            if table not in READ and not table.startswith("CUPTI_ACTIVITY_KIND_"):
                continue
            for row in database.execute(f'SELECT * FROM "{table}" LIMIT {count}'):
                named.update(row[name] for name in NAMES if name in row.keys() and row[name] is not None)
                cells = [f"{key}={written(row[key])}" for key in row.keys() if key in COLUMNS or key in NAMES]
                print("\t".join([table, *cells]))
        for row in database.execute("SELECT id, value FROM StringIds"):
            if row["id"] in named:
                print(f"StringIds\tid={row['id']}\tvalue={written(row['value'][:300])}")


if __name__ == "__main__":
    main()
