// The script that draws the timeline of a step for reading: lanes of nested bars on a canvas, zoomed and
// panned by wheel, drag, touch and keyboard, with details on hover, a click that follows launches to kernels,
// and a search. Without it the page shows a static strip.
#include "report/html/parts.h"

namespace hone::report::html {

std::string_view timeline_script() {
  return R"js(
(function () {
  'use strict';
  var home = document.getElementById('step-lanes');
  if (!home) return;
  var data = JSON.parse(document.getElementById('timeline-data').textContent);
  var count = data.t.length;
  if (!count) return;
  var ROW = 17, GAP = 2, HEAD = 20, RULER = 24, MAX_DEPTH = 24;
  // Starts come as differences.
  var start = new Float64Array(count), end = new Float64Array(count), last = 0, low = 0, total = data.step_ns;
  for (var i = 0; i < count; i++) {
    last += data.s[i];
    start[i] = last;
    end[i] = last + data.d[i];
    if (end[i] > total) total = end[i];
    if (start[i] < low) low = start[i];
  }
  // Rows: one for each depth of each track, with the bars that stand on it in order of time.
  var rows = [], tops = [], rowOf = {}, byLink = {};
  for (i = 0; i < count; i++) {
    var depth = Math.min(data.p[i], MAX_DEPTH), key = data.t[i] + ':' + depth;
    if (!rowOf[key]) { rowOf[key] = { track: data.t[i], depth: depth, bars: [] }; rows.push(rowOf[key]); }
    rowOf[key].bars.push(i);
    if (data.l[i]) (byLink[data.l[i]] = byLink[data.l[i]] || []).push(i);
  }
  rows.sort(function (a, b) { return a.track - b.track || a.depth - b.depth; });
  var y = RULER, track = -1, heads = [];
  rows.forEach(function (row) {
    if (row.track !== track) { track = row.track; heads.push({ track: track, y: y }); y += HEAD; }
    row.y = y;
    y += ROW + GAP;
    row.bars.sort(function (a, b) { return start[a] - start[b]; });
    // The latest end so far: where bars of a row overlap, the search for the first visible one must not miss any.
    var latest = low;
    row.reach = row.bars.map(function (bar) { return latest = Math.max(latest, end[bar]); });
    row.bars.forEach(function (bar) { tops[bar] = row.y; });
  });
  var height = y + 8;

  // Where a device has nothing to do, by cause: on the first row of its rank's main stream.
  var idle = data.idle, idleRows = [];
  last = 0;
  for (i = 0; i < idle.s.length; i++) {
    last += idle.s[i];
    var idleRow = rowOf[idle.t[i] + ':0'];
    if (!idleRow) continue;
    if (!idleRow.gaps) { idleRow.gaps = []; idleRow.gapEnds = []; idleRows.push(idleRow); }
    idleRow.gaps.push({ from: last, to: last + idle.d[i], cause: idle.c[i], name: data.names[idle.n[i]] });
    idleRow.gapEnds.push(last + idle.d[i]);
  }
  var marked = null;  // the stretch that a line of evidence led to

  home.innerHTML = '<div class="lanes-bar"><input type="search" placeholder="Find a name" aria-label="Find a name in the timeline">' +
    '<span class="lanes-found" aria-live="polite"></span><span class="lanes-keys">' +
    '<button type="button" data-do="in" aria-label="Zoom in">+</button><button type="button" data-do="out" aria-label="Zoom out">−</button>' +
    '<button type="button" data-do="fit">Whole step</button></span></div>' +
    '<canvas tabindex="0" role="img" aria-label="Timeline of one step; arrow keys pan, plus and minus zoom, 0 shows all"></canvas>' +
    '<div class="lanes-detail" aria-live="polite"></div>';
  var canvas = home.querySelector('canvas'), context = canvas.getContext('2d');
  var search = home.querySelector('input'), found = home.querySelector('.lanes-found'), detail = home.querySelector('.lanes-detail');
  var tip = document.getElementById('tip');
  document.getElementById('static-lanes').hidden = true;

  var view = { from: low, to: total }, hover = -1, chosen = -1, matches = null, matching = null, width = 0, queued = false;

  // The colours of causes, classes and kinds, as the style sheet has them.
  var swatch = document.createElement('span');
  swatch.hidden = true;
  home.appendChild(swatch);
  function fillOf(css) {
    swatch.className = css;
    return getComputedStyle(swatch).getPropertyValue('--c').trim();
  }

  function colours() {
    var style = getComputedStyle(document.documentElement), of = function (name) { return style.getPropertyValue(name).trim(); };
    return { bars: data.classes.map(function (name) { return fillOf('class-' + name); }), ink: of('--ink'), soft: of('--soft'),
      faint: of('--faint'), rule: of('--rule'), track: of('--track'), card: of('--card'), accent: of('--accent'),
      sync: fillOf('kind-sync'), comm: fillOf('kind-comm'), alloc: fillOf('kind-alloc'),
      causes: data.causes.map(function (cause) { return fillOf(cause[1]); }) };
  }
  var palette = colours();
  function colour(bar) {
    var kind = data.kinds[data.k[bar]];
    if (kind.indexOf('synchronization') === 0) return palette.sync;
    if (kind.indexOf('communication') === 0 || kind.indexOf('collective') === 0) return palette.comm;
    if (kind.indexOf('allocation') === 0) return palette.alloc;
    return palette.bars[data.c[bar]];
  }
  // Ink that stands out from a bar of this colour.
  var inks = {};
  function ink(fill) {
    if (inks[fill]) return inks[fill];
    var value = parseInt(fill.slice(1), 16), light = 0.3 * (value >> 16 & 255) + 0.59 * (value >> 8 & 255) + 0.11 * (value & 255);
    return inks[fill] = light > 140 ? '#14171a' : '#ffffff';
  }
  function timeText(ns) {
    if (Math.abs(ns) >= 1e9) return (ns / 1e9).toPrecision(3) + ' s';
    if (Math.abs(ns) >= 1e6) return (ns / 1e6).toPrecision(3) + ' ms';
    if (Math.abs(ns) >= 1e3) return (ns / 1e3).toPrecision(3) + ' µs';
    return Math.round(ns) + ' ns';
  }
  function x(ns) { return (ns - view.from) / (view.to - view.from) * width; }
  function firstEnding(ends, from) {  // index of the first that ends after `from`
    var low = 0, high = ends.length;
    while (low < high) { var middle = (low + high) >> 1; if (ends[middle] > from) high = middle; else low = middle + 1; }
    return low;
  }
  function first(row, from) { return firstEnding(row.reach, from); }

  function ruler() {
    var span = view.to - view.from, rough = span / Math.max(3, width / 110), power = Math.pow(10, Math.floor(Math.log10(rough)));
    var step = power * (rough / power <= 1 ? 1 : rough / power <= 2 ? 2 : rough / power <= 5 ? 5 : 10);
    context.fillStyle = palette.faint;
    context.strokeStyle = palette.rule;
    context.beginPath();
    for (var at = Math.ceil(view.from / step) * step; at <= view.to; at += step) {
      var px = Math.round(x(at)) + 0.5;
      context.moveTo(px, RULER - 8);
      context.lineTo(px, height);
      var decimals = Math.max(0, -Math.floor(Math.log10(step / 1e6) + 1e-9));
      var label = (at / 1e6).toFixed(decimals) + ' ms';
      if (px + 4 + context.measureText(label).width <= width) context.fillText(label, px + 4, 13);
    }
    context.stroke();
  }

  // Pale over the whole height under the bars, whose least width is a pixel; strong and of its true width at
  // the foot above them.
  function drawIdle(row, under) {
    for (var k = firstEnding(row.gapEnds, view.from); k < row.gaps.length && row.gaps[k].from < view.to; k++) {
      var gap = row.gaps[k], left = Math.max(0, x(gap.from)), wide = Math.min(width, x(gap.to)) - left;
      context.globalAlpha = matches ? 0.15 : under ? 0.22 : 1;
      context.fillStyle = palette.causes[gap.cause];
      context.fillRect(left, under ? row.y : row.y + ROW - 4, wide, under ? ROW : 4);
      var label = 'idle: ' + data.causes[gap.cause][0];
      if (under && wide > 40 && context.measureText(label).width + 8 < wide) {
        context.globalAlpha = 1;
        context.fillStyle = palette.soft;
        context.fillText(label, left + 4, row.y + 11);
      }
    }
    context.globalAlpha = 1;
  }
  function drawMark() {
    if (!marked) return;
    var left = x(marked.from), wide = Math.max(2, x(marked.to) - left);
    context.fillStyle = palette.accent;
    context.globalAlpha = 0.14;
    context.fillRect(left, RULER - 8, wide, height);
    context.globalAlpha = 1;
    context.fillRect(left, RULER - 8, wide, 3);
  }

  function drawRow(row) {
    var drawn = 0, edge = -1;
    if (row.gaps) drawIdle(row, true);
    for (var k = first(row, view.from); k < row.bars.length; k++) {
      var bar = row.bars[k];
      if (start[bar] >= view.to) break;
      var left = Math.max(-1, x(start[bar])), right = Math.min(width + 1, x(end[bar]));
      if (right - left < 1 && right <= edge) continue;  // nothing of it would be seen
      var wide = Math.max(1, right - left - (right - left > 3 ? 0.6 : 0));
      var fill = colour(bar), dim = matches ? !matches[bar] : chosen >= 0 && data.l[chosen] && bar !== chosen && data.l[bar] !== data.l[chosen];
      context.globalAlpha = dim ? (matches ? 0.25 : 0.45) : 1;
      context.fillStyle = fill;
      context.fillRect(left, row.y, wide, ROW);
      edge = left + wide;
      drawn++;
      if (wide > 34) {
        context.fillStyle = ink(fill);
        context.save();
        context.beginPath();
        context.rect(left, row.y, wide - 3, ROW);
        context.clip();
        context.fillText(data.names[data.n[bar]], Math.max(left, 0) + 4, row.y + 12.5);
        context.restore();
      }
      if (bar === chosen || bar === hover) {
        context.globalAlpha = 1;
        context.strokeStyle = palette.ink;
        context.lineWidth = bar === chosen ? 2 : 1;
        context.strokeRect(left + 0.5, row.y + 0.5, Math.max(1, wide - 1), ROW - 1);
        context.lineWidth = 1;
      }
    }
    context.globalAlpha = 1;
    if (row.gaps) drawIdle(row, false);
    return drawn;
  }

  // From a launch to each thing that it launched.
  function links() {
    if (chosen < 0 || !data.l[chosen]) return;
    var group = byLink[data.l[chosen]].slice().sort(function (a, b) { return start[a] - start[b]; });
    context.strokeStyle = palette.accent;
    context.lineWidth = 1.5;
    group.slice(1).forEach(function (bar) {
      var x1 = x(start[group[0]]), y1 = tops[group[0]] + ROW, x2 = x(start[bar]), y2 = tops[bar];
      context.beginPath();
      context.moveTo(x1, y1);
      context.bezierCurveTo(x1, (y1 + y2) / 2, x2, (y1 + y2) / 2, x2, y2);
      context.stroke();
    });
    context.lineWidth = 1;
  }

  function draw() {
    queued = false;
    var scale = window.devicePixelRatio || 1;
    width = canvas.clientWidth;
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
    }
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    // What lies outside the step stands on a darker ground.
    context.fillStyle = palette.track;
    if (x(0) > 0) context.fillRect(0, RULER - 8, x(0), height);
    context.font = '11.5px system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif';
    ruler();
    drawMark();
    var drawn = 0;
    rows.forEach(function (row) { drawn += drawRow(row); });
    context.fillStyle = palette.soft;
    heads.forEach(function (head) { context.fillText(data.tracks[head.track] || '', 0, head.y + 14); });
    links();
    canvas.dataset.drawn = drawn;
  }
  function redraw() { if (!queued) { queued = true; requestAnimationFrame(draw); } }

  function show(from, to) {
    var span = Math.min(total - low, Math.max(50, to - from));
    view.from = Math.max(low, Math.min(total - span, from));
    view.to = view.from + span;
    canvas.dataset.from = view.from;
    canvas.dataset.to = view.to;
    redraw();
  }
  function zoom(factor, at) {
    var middle = at === undefined ? (view.from + view.to) / 2 : at;
    var span = Math.min(total - low, Math.max(50, (view.to - view.from) * factor));
    var part = (middle - view.from) / (view.to - view.from);
    show(middle - part * span, middle - part * span + span);
  }
  function pan(part) { var by = (view.to - view.from) * part; show(view.from + by, view.to + by); }
  function timeAt(px) { return view.from + px / width * (view.to - view.from); }

  function barAt(px, py) {
    for (var r = 0; r < rows.length; r++) {
      if (py < rows[r].y || py >= rows[r].y + ROW + GAP) continue;
      var slack = (view.to - view.from) / width, at = timeAt(px), best = -1;
      for (var k = first(rows[r], at - slack); k < rows[r].bars.length && start[rows[r].bars[k]] <= at + slack; k++) {
        var bar = rows[r].bars[k];
        if (end[bar] + slack < at) continue;
        if (best < 0 || end[bar] - start[bar] < end[best] - start[best]) best = bar;
      }
      return best;
    }
    return -1;
  }
  function gapAt(px, py) {
    var at = timeAt(px), row = idleRows.filter(function (each) { return py >= each.y && py < each.y + ROW + GAP; })[0];
    var gap = row && row.gaps[firstEnding(row.gapEnds, at)];
    return gap && gap.from <= at ? gap : null;
  }
  // The gap of any rank that is nearest to these times.
  function gapNear(from, to) {
    var best = null, apart = Infinity;
    idleRows.forEach(function (row) {
      var gap = row.gaps[firstEnding(row.gapEnds, from)], far = gap ? Math.abs(gap.from - from) + Math.abs(gap.to - to) : Infinity;
      if (far < apart) { best = gap; apart = far; }
    });
    return best;
  }
  function gapWords(gap) {
    return 'idle: ' + data.causes[gap.cause][0] + ', ' + timeText(gap.to - gap.from) + ' at ' + timeText(gap.from) + (gap.name ? '\n' + gap.name : '');
  }
  function words(bar) {
    var partners = data.l[bar] ? byLink[data.l[bar]].length - 1 : 0;
    return data.names[data.n[bar]] + '\n' + data.kinds[data.k[bar]] + ', ' + timeText(end[bar] - start[bar]) + ' at ' + timeText(start[bar]) +
      (partners ? '\nclick: follow ' + (partners > 1 ? partners + ' links' : 'its link') : '');
  }
  function choose(bar) {
    chosen = bar;
    detail.textContent = '';
    if (bar >= 0) {
      var lines = [bar].concat(data.l[bar] ? byLink[data.l[bar]].filter(function (other) { return other !== bar; }) : []);
      lines.slice(0, 8).forEach(function (other, index) {
        var line = document.createElement('div'), name = document.createElement('code');
        name.textContent = data.names[data.n[other]];
        line.textContent = (index ? 'linked: ' : '') + timeText(end[other] - start[other]) + ' at ' + timeText(start[other]) + ', ' +
          (data.tracks[data.t[other]] || '') + ', ' + data.kinds[data.k[other]] + ' ';
        line.appendChild(name);
        detail.appendChild(line);
      });
      if (lines.length > 8) detail.appendChild(document.createTextNode('and ' + (lines.length - 8) + ' more'));
    }
    canvas.dataset.chosen = bar;
    marked = null;
    canvas.dataset.marked = '';
    redraw();
  }
  // What ran between two moments, track by track: only bars that stand in no other count, each as far as it lies between.
  function sums(from, to) {
    var tracks = [];
    rows.forEach(function (row) {
      if (row.depth !== 0) return;
      var kinds = {}, busy = 0, order = [];
      function add(what, ns) {
        if (!kinds[what]) { kinds[what] = { what: what, ns: 0, count: 0 }; order.push(kinds[what]); }
        kinds[what].ns += ns;
        kinds[what].count++;
      }
      for (var k = first(row, from); k < row.bars.length && start[row.bars[k]] < to; k++) {
        var bar = row.bars[k], ns = Math.min(end[bar], to) - Math.max(start[bar], from);
        if (ns <= 0) continue;
        busy += ns;
        add(data.kinds[data.k[bar]], ns);
      }
      for (k = row.gaps ? firstEnding(row.gapEnds, from) : 0; row.gaps && k < row.gaps.length && row.gaps[k].from < to; k++)
        add('idle: ' + data.causes[row.gaps[k].cause][0], Math.min(row.gaps[k].to, to) - Math.max(row.gaps[k].from, from));
      order.sort(function (a, b) { return b.ns - a.ns; });
      if (order.length) tracks.push({ name: data.tracks[row.track] || '', busy: busy, kinds: order });
    });
    return tracks;
  }
  function select(from, to) {
    choose(-1);
    marked = { from: Math.max(low, Math.min(from, to)), to: Math.min(total, Math.max(from, to)) };
    canvas.dataset.marked = marked.from + ' ' + marked.to;
    redraw();
  }
  function tellSelected() {
    var span = marked.to - marked.from, head = document.createElement('div');
    detail.textContent = '';
    head.textContent = timeText(span) + ' selected, from ' + timeText(marked.from);
    detail.appendChild(head);
    sums(marked.from, marked.to).forEach(function (each) {
      var line = document.createElement('div');
      line.textContent = each.name + ': busy ' + timeText(each.busy) + ' (' + (100 * each.busy / span).toFixed(1) + ' %)' +
        each.kinds.slice(0, 8).map(function (kind) { return '; ' + kind.what + ' ' + timeText(kind.ns) + ' in ' + kind.count; }).join('');
      detail.appendChild(line);
    });
  }
  function explainGap(gap) { if (gap) detail.textContent = gapWords(gap).replace('\n', ': '); }

  // A line of evidence leads to the longest of what it speaks of.
  function lead(from, to) {
    var room = Math.max((to - from) * 2, (total - low) / 400), best = -1, apart = 2000;
    for (var k = 0; k < count; k++) {
      var far = Math.abs(start[k] - from) + Math.abs(end[k] - to);
      if (far < apart) { best = k; apart = far; }
    }
    choose(best);
    if (best < 0) explainGap(gapNear(from, to));
    marked = { from: from, to: to };
    canvas.dataset.marked = from + ' ' + to;
    show(from - room, to + room);
    canvas.focus({ preventScroll: true });
  }
  document.querySelectorAll('a.place').forEach(function (link) {
    link.addEventListener('click', function (event) {
      var from = +link.dataset.from;
      event.preventDefault();
      try { history.pushState(null, '', '#timeline'); } catch (ignored) {}  // the way back
      document.getElementById('timeline').scrollIntoView();
      lead(from, from + +link.dataset.for);
    });
  });
  function reveal(bar) {
    var span = Math.max(view.to - view.from, (end[bar] - start[bar]) * 3), middle = (start[bar] + end[bar]) / 2;
    if (start[bar] < view.from || end[bar] > view.to) show(middle - span / 2, middle + span / 2);
  }

  // Drag pans, drag with Shift selects, two fingers zoom, a tap chooses.
  var fingers = {}, moved = 0, selecting = null;
  function local(event) { var box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; }
  canvas.addEventListener('pointerdown', function (event) {
    fingers[event.pointerId] = event.clientX;
    moved = 0;
    selecting = event.shiftKey ? timeAt(local(event)[0]) : null;
    try { canvas.setPointerCapture(event.pointerId); } catch (ignored) {}
  });
  canvas.addEventListener('pointermove', function (event) {
    var ids = Object.keys(fingers);
    if (fingers[event.pointerId] !== undefined) {
      var by = event.clientX - fingers[event.pointerId];
      moved += Math.abs(by);
      if (ids.length === 2) {
        var other = fingers[ids[0] === String(event.pointerId) ? ids[1] : ids[0]];
        var before = Math.abs(fingers[event.pointerId] - other), after = Math.abs(event.clientX - other);
        if (before > 4 && after > 4) zoom(before / after, timeAt((event.clientX + other) / 2 - canvas.getBoundingClientRect().left));
      } else if (moved > 3 && selecting !== null) {
        select(selecting, timeAt(local(event)[0]));
      } else if (moved > 3) {
        pan(-by / width);
      }
      fingers[event.pointerId] = event.clientX;
      return;
    }
    var at = local(event), bar = barAt(at[0], at[1]);
    if (bar !== hover) { hover = bar; redraw(); }
    var gap = bar < 0 ? gapAt(at[0], at[1]) : null;
    tip.hidden = bar < 0 && !gap;
    if (tip.hidden) return;
    tip.textContent = gap ? gapWords(gap) : words(bar);
    var box = tip.getBoundingClientRect();
    var left = Math.max(8, Math.min(event.clientX + 14, window.innerWidth - box.width - 8));
    var above = event.clientY + 18 + box.height > window.innerHeight - 8;
    tip.style.transform = 'translate(' + left + 'px,' + (above ? event.clientY - box.height - 12 : event.clientY + 18) + 'px)';
  });
  function lift(event) {
    if (fingers[event.pointerId] !== undefined && moved > 3 && selecting !== null) tellSelected();
    if (fingers[event.pointerId] !== undefined && moved <= 3 && event.type === 'pointerup') {
      var at = local(event);
      choose(barAt(at[0], at[1]));
      if (chosen < 0) explainGap(gapAt(at[0], at[1]));
    }
    delete fingers[event.pointerId];
    selecting = null;
  }
  canvas.addEventListener('pointerup', lift);
  canvas.addEventListener('pointercancel', lift);
  canvas.addEventListener('pointerleave', function () { if (hover >= 0) { hover = -1; redraw(); } tip.hidden = true; });
  canvas.addEventListener('dblclick', function (event) {
    var at = local(event), bar = barAt(at[0], at[1]);
    if (bar >= 0) { var room = (end[bar] - start[bar]) * 0.2 + 20; show(start[bar] - room, end[bar] + room); }
  });
  // The page scrolls under the wheel until the timeline has been clicked or Ctrl is held.
  canvas.addEventListener('wheel', function (event) {
    if (document.activeElement !== canvas && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan((event.deltaX || event.deltaY) / width);
    else zoom(Math.pow(1.0018, event.deltaY), timeAt(local(event)[0]));
  }, { passive: false });
  canvas.addEventListener('keydown', function (event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    var acts = { w: [zoom, 0.75], ArrowUp: [zoom, 0.75], '+': [zoom, 0.75], '=': [zoom, 0.75], s: [zoom, 1.34], ArrowDown: [zoom, 1.34],
      '-': [zoom, 1.34], a: [pan, -0.15], ArrowLeft: [pan, -0.15], d: [pan, 0.15], ArrowRight: [pan, 0.15] };
    var key = event.key.length === 1 ? event.key.toLowerCase() : event.key, act = acts[key];
    if (act) act[0](act[1]);
    else if (key === '0') show(low, total);
    else if (key === 'Escape') choose(-1);
    else return;
    event.preventDefault();
  });
  home.querySelectorAll('button').forEach(function (button) {
    button.addEventListener('click', function () {
      var act = button.getAttribute('data-do');
      if (act === 'fit') show(low, total); else zoom(act === 'in' ? 0.5 : 2);
    });
  });

  function find() {
    var wanted = search.value.trim().toLowerCase();
    matches = matching = null;
    found.textContent = '';
    if (wanted) {
      var hit = data.names.map(function (name) { return name.toLowerCase().indexOf(wanted) >= 0; }), time = 0;
      matches = new Uint8Array(count);
      matching = [];
      for (var k = 0; k < count; k++) if (hit[data.n[k]]) { matches[k] = 1; matching.push(k); time += end[k] - start[k]; }
      matching.sort(function (a, b) { return start[a] - start[b]; });
      found.textContent = matching.length + ' found, ' + timeText(time) + ' together' + (matching.length ? '; Enter: next' : '');
    }
    canvas.dataset.matches = matching ? matching.length : '';
    redraw();
  }
  search.addEventListener('input', find);
  search.addEventListener('keydown', function (event) {
    if (event.key !== 'Enter' || !matching || !matching.length) return;
    event.preventDefault();
    var next = matching.filter(function (bar) { return chosen < 0 || start[bar] > start[chosen]; })[0];
    if (next === undefined) next = matching[0];
    choose(next);
    reveal(next);
  });
  window.addEventListener('resize', redraw);
  if (window.matchMedia) {
    var theme = window.matchMedia('(prefers-color-scheme: dark)');
    if (theme.addEventListener) theme.addEventListener('change', function () { palette = colours(); inks = {}; redraw(); });
  }
  canvas.style.height = height + 'px';
  show(low, total);
  draw();
})();
)js";
}

}  // namespace hone::report::html
