// The page's script: tooltips at once instead of after a second, tables that a click or a key on a heading
// sorts, and a copy button. The page is complete without it.
#include "report/html/parts.h"

namespace hone::report::html {

std::string_view script() {
  return R"js(
(function () {
  'use strict';
  var tip = document.createElement('div');
  tip.id = 'tip';
  tip.hidden = true;
  document.body.appendChild(tip);
  // A <title> is the browser's own, slow tooltip: its text moves to an attribute.
  document.querySelectorAll('svg title').forEach(function (title) {
    title.parentNode.setAttribute('data-tip', title.textContent);
    title.remove();
  });
  function place(event) {
    var box = tip.getBoundingClientRect();
    var x = Math.min(event.clientX + 14, window.innerWidth - box.width - 8);
    var y = event.clientY + 18;
    if (y + box.height > window.innerHeight - 8) y = event.clientY - box.height - 12;
    tip.style.transform = 'translate(' + Math.max(8, x) + 'px,' + Math.max(8, y) + 'px)';
  }
  var current = null;
  function show(event) {
    var target = event.target.closest ? event.target.closest('[data-tip]') : null;
    if (current && current !== target) current.classList.remove('hot');
    current = target;
    if (event.target.tagName === 'CANVAS') return;  // the timeline speaks for itself
    tip.hidden = !target;
    if (!target) return;
    target.classList.add('hot');
    tip.textContent = target.getAttribute('data-tip');
    place(event);
  }
  document.addEventListener('pointermove', show, { passive: true });
  document.addEventListener('pointerdown', show, { passive: true });
  document.addEventListener('scroll', function () { tip.hidden = true; }, { passive: true });
  // A record is a row, or a body of its own where a row has a note below it. A heading sorts downwards first where
  // the column has numbers; the third time it restores the order of the page.
  document.querySelectorAll('table.sortable').forEach(function (table) {
    var first = table.tBodies[0].rows;  // of one record, where a line below it says why
    var whole = table.tBodies.length > 1 || (first.length > 1 && first[1].cells.length < first[0].cells.length);
    var home = whole ? table : table.tBodies[0];
    var records = Array.prototype.slice.call(whole ? table.tBodies : home.rows);
    if (records.length < 2) return;
    function key(record, column) {
      var cell = (whole ? record.rows[0] : record).cells[column];
      var number = cell.getAttribute('data-value');
      return number !== null ? parseFloat(number) : cell.textContent.trim().toLowerCase();
    }
    Array.prototype.forEach.call(table.tHead.rows[0].cells, function (head, column) {
      if (!head.textContent) return;
      var numeric = records.some(function (record) { return typeof key(record, column) === 'number'; });
      var button = document.createElement('button');
      button.type = 'button';
      button.textContent = head.textContent;
      button.title = 'sort by ' + head.textContent;
      head.textContent = '';
      head.appendChild(button);
      button.addEventListener('click', function () {
        var first = numeric ? 'descending' : 'ascending', second = numeric ? 'ascending' : 'descending';
        var now = head.getAttribute('aria-sort');
        var next = now === first ? second : now === second ? null : first;
        Array.prototype.forEach.call(table.tHead.rows[0].cells, function (other) {
          other.removeAttribute('aria-sort');
        });
        var sign = next === 'descending' ? -1 : 1;
        var order = records.slice();
        if (next) {
          head.setAttribute('aria-sort', next);
          order.sort(function (a, b) {
            var x = key(a, column), y = key(b, column);
            if (numeric) {
              x = typeof x === 'number' ? x : -Infinity;
              y = typeof y === 'number' ? y : -Infinity;
            }
            return x < y ? -sign : x > y ? sign : records.indexOf(a) - records.indexOf(b);
          });
        }
        order.forEach(function (record) { home.appendChild(record); });
      });
    });
  });
  document.querySelectorAll('.command').forEach(function (command) {
    if (!navigator.clipboard) return;
    var button = document.createElement('button');
    button.type = 'button';
    button.textContent = 'Copy';
    button.addEventListener('click', function () {
      navigator.clipboard.writeText(command.querySelector('code').textContent).then(function () {
        button.textContent = 'Copied';
        setTimeout(function () { button.textContent = 'Copy'; }, 1500);
      }, function () {});
    });
    command.appendChild(button);
  });
})();
)js";
}

}  // namespace hone::report::html
