// The page's script: tooltips at once instead of after a second, and a copy button. The page is complete
// without it.
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
