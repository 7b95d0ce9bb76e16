"""Makes a database of Nsight Systems small enough to keep: strip.py FULL.sqlite OUT.sqlite.gz

Tables that say nothing of the program go (the system, its other processes, enumerations but one), and so do strings
that nothing is named by. What stays is as it was exported.
"""
import gzip
import shutil
import sqlite3
import sys
import tempfile

KEPT = ("StringIds", "PROCESSES", "ThreadNames", "NVTX_EVENTS", "ENUM_CUDA_MEM_KIND", "PROFILER_OVERHEAD",
        "TARGET_INFO_GPU", "TARGET_INFO_CUDA_DEVICE", "TARGET_INFO_SESSION_START_TIME", "META_DATA_EXPORT")
NAMED = ("demangledName", "shortName", "mangledName", "nameId", "textId", "jsonTextId")


def main():
    full, out = sys.argv[1:]
    with tempfile.NamedTemporaryFile(suffix=".sqlite") as copy:
        shutil.copy(full, copy.name)
        database = sqlite3.connect(copy.name)
        tables = [name for name, in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for name in tables:
            if name not in KEPT and not name.startswith(("CUPTI_ACTIVITY_KIND_", "CUDA_GRAPH_")):
                database.execute(f'DROP TABLE "{name}"')
        here = "SELECT DISTINCT globalTid / 0x1000000 % 0x1000000 FROM CUPTI_ACTIVITY_KIND_RUNTIME"
        database.execute(f"DELETE FROM PROCESSES WHERE globalPid / 0x1000000 % 0x1000000 NOT IN ({here})")
        database.execute(f"DELETE FROM ThreadNames WHERE globalTid / 0x1000000 % 0x1000000 NOT IN ({here})")
        database.execute("UPDATE TARGET_INFO_GPU SET uuid = ''")
        database.execute("DELETE FROM META_DATA_EXPORT WHERE name NOT LIKE 'EXPORT_%VERSION'")
        used = []
        for name in tables:
            for _, column, *_ in database.execute(f'PRAGMA table_info("{name}")').fetchall():
                if column in NAMED:
                    used.append(f'SELECT "{column}" FROM "{name}" WHERE "{column}" IS NOT NULL')
        database.execute(f"DELETE FROM StringIds WHERE id NOT IN ({' UNION '.join(used)})")
        database.commit()
        database.execute("VACUUM")
        database.close()
        with open(copy.name, "rb") as source, gzip.GzipFile(out, "wb", 9, mtime=0) as packed:
            shutil.copyfileobj(source, packed)


if __name__ == "__main__":
    main()
