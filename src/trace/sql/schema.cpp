#include "trace/sql/schema.h"

namespace hone::trace::sql {

const char* const kTables = R"sql(
CREATE TABLE about(key TEXT, value TEXT);  -- who recorded what; 'warning' rows: what the importer mended
CREATE TABLE devices(rank INTEGER, device INTEGER, name TEXT, memory_bytes REAL, multiprocessors INTEGER,
                     compute_capability TEXT);
CREATE TABLE ranks(rank INTEGER, world_size INTEGER, source TEXT, backend TEXT,
                   clock_shift_ns INTEGER);  -- to be added to its times to compare them with other ranks'
CREATE TABLE blocks(rank INTEGER, block INTEGER, mode TEXT, start_ns INTEGER, end_ns INTEGER,
                    first_launch INTEGER, last_launch INTEGER);  -- what a recorder that takes turns recorded when
CREATE TABLE marks(rank INTEGER, kind TEXT, name TEXT, time_ns INTEGER, tid INTEGER,
                   launches INTEGER);  -- what comes once a step, in all blocks
CREATE TABLE block_steps(rank INTEGER, block INTEGER, mode TEXT, steps REAL, mean_ns REAL,
                         shown INTEGER, median_ns REAL);  -- on the host; shown: of the mode of the steps
CREATE TABLE strings(id INTEGER PRIMARY KEY, text TEXT);
CREATE TABLE tracks(id INTEGER PRIMARY KEY, kind TEXT, name TEXT, process INTEGER, pid INTEGER, tid INTEGER,
                    rank INTEGER, device INTEGER);  -- kind: process, thread, stream; device -1: host
CREATE TABLE operators(id INTEGER PRIMARY KEY, name TEXT, kind TEXT, what TEXT, class TEXT,
                       dtype TEXT, flops REAL,
                       bytes_read REAL, bytes_written REAL, avoidable_bytes REAL, phase TEXT, module TEXT,
                       geometry TEXT, implementation TEXT, device_kernels TEXT);  -- what: recognised by kind; costs of one execution
CREATE TABLE spans(id INTEGER PRIMARY KEY, start_ns INTEGER, duration_ns INTEGER, track INTEGER, name INTEGER,
                   category TEXT, step INTEGER, op INTEGER, correlation INTEGER);  -- name: of strings
CREATE TABLE kernels(name INTEGER PRIMARY KEY, short TEXT, does TEXT, precision TEXT);  -- name: of strings
CREATE TABLE calls(span INTEGER PRIMARY KEY, inputs TEXT, sequence INTEGER, external INTEGER);
CREATE TABLE launches(span INTEGER PRIMARY KEY, external INTEGER, grid_x INTEGER, grid_y INTEGER,
                      grid_z INTEGER, block_x INTEGER, block_y INTEGER, block_z INTEGER, registers INTEGER,
                      shared_bytes INTEGER, graph_node INTEGER);
CREATE TABLE copies(span INTEGER PRIMARY KEY, external INTEGER, source TEXT, target TEXT, bytes REAL);
CREATE TABLE collectives(span INTEGER PRIMARY KEY, name TEXT, kind TEXT, process_group TEXT,
                         group_size INTEGER, dtype TEXT, elements_in REAL, elements_out REAL);
CREATE TABLE counted_launches(id INTEGER PRIMARY KEY, rank INTEGER, device INTEGER, kernel INTEGER, grid_x INTEGER,
                              grid_y INTEGER, grid_z INTEGER, block_x INTEGER, block_y INTEGER,
                              block_z INTEGER, registers INTEGER, shared_bytes INTEGER, instance INTEGER,
                              passes INTEGER);  -- kernel: of strings; counted apart from the timeline
CREATE TABLE counters(launch INTEGER, metric TEXT, value REAL);  -- launch: of counted_launches; ns, bytes, percent
CREATE TABLE device_samples(rank INTEGER, device INTEGER, start_ns INTEGER, end_ns INTEGER, metric TEXT, value REAL);
CREATE TABLE kernel_samples(id INTEGER PRIMARY KEY, rank INTEGER, device INTEGER, kernel INTEGER, grid_x INTEGER,
                            grid_y INTEGER, grid_z INTEGER, block_x INTEGER, block_y INTEGER, block_z INTEGER,
                            function TEXT, offset INTEGER, line_info TEXT, file TEXT, line INTEGER,
                            source TEXT);  -- instructions; kernel: of strings
CREATE TABLE kernel_stalls(sample INTEGER, reason TEXT, samples INTEGER);  -- sample: of kernel_samples
CREATE TABLE stack_samples(id INTEGER PRIMARY KEY, time_ns INTEGER, track INTEGER, state TEXT);
CREATE TABLE stack_frames(sample INTEGER, depth INTEGER, kind TEXT, function TEXT, file TEXT, line INTEGER,
                          owner TEXT, role TEXT);  -- depth 0: innermost; each of a sample's two kinds for itself
CREATE TABLE host_use(rank INTEGER, block INTEGER, seconds REAL, processes INTEGER, main_running_s REAL,
                      main_in_line_s REAL, cpu_s REAL, disk_wait_s REAL, minor_faults REAL, major_faults REAL,
                      bytes_read REAL, bytes_written REAL, bytes_received REAL, bytes_sent REAL);
CREATE TABLE steps(span INTEGER PRIMARY KEY, step INTEGER, rank INTEGER, start_ns INTEGER,
                   duration_ns INTEGER, window_start_ns INTEGER, window_ns INTEGER);
-- start_ns, duration_ns: as marked on the host; window_: what hone takes for the step, to the end of its last work
)sql";

const char* const kIndexes = R"sql(
CREATE INDEX spans_by_track ON spans(track, start_ns);
CREATE INDEX spans_by_name ON spans(name);
CREATE INDEX frames_by_sample ON stack_frames(sample);
CREATE INDEX spans_by_step ON spans(step);
CREATE INDEX spans_by_operator ON spans(op) WHERE op IS NOT NULL;
CREATE INDEX spans_by_correlation ON spans(correlation) WHERE correlation IS NOT NULL;
)sql";

const char* const kViews = R"sql(
-- Every span with its names in words.
CREATE VIEW slices AS
  SELECT s.id, n.text AS name, s.category, s.start_ns, s.duration_ns, s.step, t.rank, t.kind AS track_kind,
         t.name AS track, o.kind AS operator, o.phase, o.module, s.correlation
  FROM spans s JOIN tracks t ON t.id = s.track LEFT JOIN strings n ON n.id = s.name
       LEFT JOIN operators o ON o.id = s.op;
-- What ran on devices, with the call that launched it. queue_ns: how long it waited behind the launch.
CREATE VIEW device_work AS
  SELECT s.id, coalesce(k.short, n.text) AS name, k.does, k.precision, s.category, s.start_ns, s.duration_ns,
         s.step, t.rank, t.device, t.name AS stream, o.kind AS operator, o.phase, o.module, l.grid_x, l.grid_y,
         l.grid_z, l.block_x, l.block_y, l.block_z, l.registers, l.shared_bytes, h.id AS launch,
         s.start_ns - h.start_ns AS queue_ns, n.text AS full_name
  FROM spans s JOIN tracks t ON t.id = s.track AND t.kind = 'stream' LEFT JOIN strings n ON n.id = s.name
       LEFT JOIN kernels k ON k.name = s.name LEFT JOIN operators o ON o.id = s.op
       LEFT JOIN launches l ON l.span = s.id
       LEFT JOIN spans h ON h.correlation = s.correlation AND h.category = 'runtime'
  WHERE s.category IN ('kernel', 'memcpy', 'memset', 'communication');
-- Kernels, the longest together first.
CREATE VIEW kernel_time AS
  SELECT name, does, precision, category, count(*) AS launches, sum(duration_ns) / 1e6 AS total_ms,
         avg(duration_ns) / 1e3 AS mean_us, min(duration_ns) / 1e3 AS least_us,
         max(duration_ns) / 1e3 AS most_us, full_name
  FROM device_work GROUP BY full_name, category ORDER BY total_ms DESC;
-- Operators by the device time that they caused, with what their executions cost together.
CREATE VIEW operator_time AS
  SELECT o.kind, o.name, o.phase, o.module, count(*) AS pieces, sum(s.duration_ns) / 1e6 AS device_ms,
         o.flops AS flops_each, o.bytes_read + o.bytes_written AS bytes_each
  FROM spans s JOIN tracks t ON t.id = s.track AND t.kind = 'stream' JOIN operators o ON o.id = s.op
  WHERE s.category IN ('kernel', 'memcpy', 'memset', 'communication')
  GROUP BY s.op ORDER BY device_ms DESC;
-- The lines that samples of stacks fall on, the most frequent first: each sample's innermost frame of the program's own code.
CREATE VIEW sampled_lines AS
  SELECT t.pid, t.tid, f.function, f.file, f.line, count(*) AS samples
  FROM stack_samples s JOIN tracks t ON t.id = s.track
       JOIN stack_frames f ON f.sample = s.id AND f.owner = 'program' AND f.depth =
         (SELECT min(depth) FROM stack_frames WHERE sample = s.id AND owner = 'program' AND kind = f.kind)
  GROUP BY t.pid, t.tid, f.function, f.file, f.line ORDER BY samples DESC;
-- Where hosts waited for devices.
CREATE VIEW synchronizations AS
  SELECT s.id, n.text AS name, s.start_ns, s.duration_ns, s.step, t.rank, t.name AS track
  FROM spans s JOIN tracks t ON t.id = s.track AND t.kind = 'thread' LEFT JOIN strings n ON n.id = s.name
  WHERE s.category = 'synchronization';
)sql";

}  // namespace hone::trace::sql
