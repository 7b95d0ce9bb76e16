// The style sheet. Its colours are in palette.cpp, those of the charts in fills.cpp.
#include "report/html/fills.h"
#include "report/html/palette.h"
#include "report/html/parts.h"

namespace hone::report::html {
namespace {

constexpr std::string_view kSheet = R"css(
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--page);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,
"Helvetica Neue","Liberation Sans",Arial,sans-serif;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
main{max-width:1080px;margin:0 auto;padding:40px 32px 72px}
code,.mono{font-family:ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace;font-size:.875em}
code.inline{white-space:nowrap}
code.inline.long{white-space:normal}
.verdict code.inline{font-size:.84em;letter-spacing:-.03em}
h1{font-size:1rem;font-weight:600;margin:0;letter-spacing:.01em}
h2{font-size:1.3rem;line-height:1.3;font-weight:650;letter-spacing:-.01em;margin:0}
p{margin:0}
a{color:var(--accent)}
.top-line{display:flex;flex-wrap:wrap;gap:2px 16px;align-items:baseline;color:var(--soft);font-size:.9rem}
.top-line h1{color:var(--ink)}
.verdict{font-size:2.05rem;line-height:1.22;letter-spacing:-.022em;font-weight:650;margin:22px 0 12px;
text-wrap:pretty}
.verdict em{font-style:normal;color:var(--good)}
.verdict em.bad{color:var(--bad)}
.verdict em.neutral{color:inherit}
.sub{color:var(--soft);max-width:56em}
.sub+.sub{margin-top:6px}
.sub b{font-weight:600;color:var(--ink)}
.tiles{display:grid;grid-template-columns:repeat(4,1fr);gap:1px;background:var(--rule);border:1px solid var(--rule);
border-radius:10px;overflow:hidden;margin:30px 0 0}
.tile{background:var(--card);padding:16px 20px 15px}
.tile b{display:block;font-size:1.65rem;line-height:1.2;font-weight:600;letter-spacing:-.02em;white-space:nowrap}
.tile b small{font-size:.58em;font-weight:500;color:var(--soft);letter-spacing:0;margin-left:.2em}
.tile .name{font-size:.82rem;color:var(--soft)}
.tile .note{font-size:.82rem;color:var(--faint)}
.contents{margin:26px 0 0;font-size:.9rem}
.contents ul{display:flex;flex-wrap:wrap;gap:4px 20px;margin:0;padding:0;list-style:none}
.contents a{color:var(--soft);text-decoration:none}
.contents a:hover,.contents a:focus-visible{color:var(--accent);text-decoration:underline}
section{margin-top:60px;scroll-margin-top:12px}
section>.lead{color:var(--soft);margin:4px 0 20px;max-width:58em;font-size:.95rem}
.card{background:var(--card);border:1px solid var(--rule);border-radius:10px;padding:22px 24px}
.legend{display:flex;flex-wrap:wrap;gap:4px 18px;font-size:.82rem;color:var(--soft);margin:0 0 14px}
.legend i{display:inline-block;width:11px;height:11px;border-radius:2px;margin-right:6px;vertical-align:-1px}
.legend i.ring{border-radius:50%;background:none;border:1.6px solid var(--soft)}
.legend i.dot{border-radius:50%;background:var(--soft)}
.legend i.pale{background:color-mix(in srgb,var(--total) 40%,var(--card))}
.legend i.full{background:var(--total)}
.legend i.diamond{background:none;border:1.5px solid var(--soft);border-radius:0;transform:rotate(45deg) scale(.8)}
svg.chart{display:block;width:100%;height:auto;overflow:visible}
svg.compact{display:none}
svg text{font:12.5px system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue","Liberation Sans",Arial,sans-serif;
font-variant-numeric:tabular-nums;fill:var(--ink)}
svg .axis{fill:var(--faint);font-size:11.5px}
svg .axis.title{fill:var(--soft)}
svg .label{fill:var(--ink);font-size:13.5px}
svg .strong{font-weight:650}
svg .value{fill:var(--soft)}
svg .strong.value{fill:var(--ink)}
svg .grid{stroke:var(--rule);stroke-width:1}
svg .tick,svg .zero{stroke:var(--faint);stroke-width:1}
svg .roof{stroke:var(--soft);stroke-width:1.5}
svg .roof-label{fill:var(--soft);font-size:11.5px;pointer-events:none;paint-order:stroke;stroke:var(--card);stroke-width:5px;stroke-linejoin:round}
svg.compact .roof-label{font-size:10px}
svg .rank{font-size:11px;font-weight:700;pointer-events:none;paint-order:stroke;stroke:var(--card);stroke-width:3px;
stroke-linejoin:round}
svg .track{fill:var(--track)}
svg .total{--c:var(--total);fill:var(--c)}
svg .point{stroke-width:1.6;stroke:var(--c);fill:var(--c)}
svg .point.before{fill:none;stroke-opacity:.75}
svg .point.after{fill-opacity:.85;stroke:var(--card);stroke-width:1}
svg .interval{stroke:var(--accent);stroke-width:3;stroke-linecap:round;opacity:.45}
svg .measured{fill:var(--accent)}
svg .memory-used{fill:var(--accent);fill-opacity:.35;stroke:var(--accent);stroke-width:1}
i.memory-used{background:var(--accent);opacity:.5}
svg .curve{fill:none;stroke:var(--total);stroke-width:1.6}
svg .curve.again{stroke-dasharray:4 3}
svg .curve.after{stroke:var(--accent)}
svg .curve.faint{stroke-width:1;stroke-opacity:.45}
svg .measured.before{fill:var(--total)}
.card.small svg.compact{display:block}
svg .band{fill:color-mix(in srgb,var(--total) 22%,var(--card));stroke:none}
svg .predicted{fill:var(--card);stroke:var(--soft);stroke-width:1.4}
svg .hot{filter:brightness(1.15)}
svg.gain{display:block;width:170px;height:22px}
svg.share{display:block;width:100%;height:5px;border-radius:3px;overflow:hidden;margin-top:5px}
svg [class^=cause-],svg [class^=class-],svg [class^=kind-]{fill:var(--c)}
svg rect.before{fill:color-mix(in srgb,var(--c) 40%,var(--card))}
.legend [class^=cause-],.legend [class^=class-],.legend [class^=kind-],.chip-dot{background:var(--c)}
.tabs>input{position:absolute;opacity:0;pointer-events:none}
.tabs>.bar{display:inline-flex;border:1px solid var(--rule);border-radius:8px;overflow:hidden;margin:0 0 16px;
background:var(--card);font-size:.88rem}
.tabs label{padding:5px 16px;cursor:pointer;color:var(--soft)}
.tabs>.panel{display:none}
.tabs>input:nth-of-type(1):checked~.panel.one,.tabs>input:nth-of-type(2):checked~.panel.two{display:block}
.tabs>input:nth-of-type(1):checked~.bar label:nth-of-type(1),
.tabs>input:nth-of-type(2):checked~.bar label:nth-of-type(2){background:var(--track);color:var(--ink);font-weight:600}
.tabs>input:focus-visible~.bar{outline:2px solid var(--accent);outline-offset:2px}
details{border-top:1px solid var(--rule)}
details:last-of-type{border-bottom:1px solid var(--rule)}
summary{display:grid;grid-template-columns:14px minmax(0,1fr) 90px 64px 120px 14px;gap:14px;align-items:baseline;padding:11px 2px;
cursor:pointer;list-style:none}
summary::-webkit-details-marker{display:none}
summary:hover{background:var(--track)}
summary:focus-visible{outline:2px solid var(--accent);outline-offset:-2px}
summary .n{text-align:right;white-space:nowrap}
summary .gain-note{color:var(--good);text-align:right;white-space:nowrap;font-size:.88rem}
summary .more{color:var(--faint);transition:transform .12s}
details[open] summary .more{transform:rotate(90deg)}
.heads{display:grid;grid-template-columns:14px minmax(0,1fr) 90px 64px 120px 14px;gap:14px;padding:0 2px 7px;color:var(--faint);
font-size:.8rem;text-align:right}
.chip-dot{display:inline-block;width:11px;height:11px;border-radius:2px;align-self:center}
.evidence{padding:0 2px 18px 30px;color:var(--soft);font-size:.92rem}
.evidence ul{margin:6px 0 10px;padding-left:1.15em}
.evidence li{margin:2px 0}
.evidence b{color:var(--ink);font-weight:600}
table{border-collapse:collapse;width:100%;font-size:.93rem}
th{font-weight:500;font-size:.8rem;color:var(--faint);text-align:left;padding:0 12px 8px 0;white-space:nowrap;
border-bottom:1px solid var(--rule)}
th button{all:unset;cursor:pointer;border-radius:3px}
th button:hover{color:var(--accent)}
th button:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
th[aria-sort] button{color:var(--ink)}
th[aria-sort=descending] button::after{content:" ↓"}
th[aria-sort=ascending] button::after{content:" ↑"}
td{padding:12px 12px 12px 0;vertical-align:top;border-bottom:1px solid var(--rule)}
th:last-child,td:last-child{padding-right:0}
th.n,td.n{text-align:right;white-space:nowrap}
.option{white-space:nowrap}
td .kind{display:block;color:var(--faint);font-size:.84rem}
td.sharecell{width:92px}
td.sharecell.alone{vertical-align:middle}td.sharecell.alone svg.share{margin-top:0}
tr.main td{border-bottom:0;padding-bottom:2px}
tr.why td{padding-top:0;color:var(--soft);font-size:.9rem}
tr.dropped td{color:var(--faint)}
.yes{color:var(--good);font-weight:600;white-space:nowrap}.no{color:var(--faint);white-space:nowrap}.fail{color:var(--bad);font-weight:600}
.tag{font-size:.78rem;color:var(--soft);border:1px solid var(--rule);border-radius:5px;padding:0 6px;white-space:nowrap}
.grid-2{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:20px}
.card h3{font-size:.95rem;font-weight:650;margin:0 0 10px}
dl{display:grid;grid-template-columns:minmax(7em,max-content) minmax(0,1fr);gap:5px 20px;margin:0;font-size:.92rem}
dt{color:var(--soft)}dd{margin:0}
.card table{font-size:.92rem}
.card td{padding:7px 12px 7px 0}.card td:last-child{padding-right:0}
.card tr:last-child td{border-bottom:0;padding-bottom:0}
.command{display:flex;gap:12px;align-items:flex-start;background:var(--track);border-radius:8px;padding:12px 14px}
.command code{flex:1;white-space:pre-wrap}
.command button{font:inherit;font-size:.8rem;color:var(--soft);background:var(--card);border:1px solid var(--rule);border-radius:6px;
padding:1px 10px;cursor:pointer}
.notes{color:var(--soft);font-size:.9rem;margin:12px 0 0;padding-left:1.15em}
.warning{border-left:3px solid var(--bad);padding:2px 0 2px 14px;margin-top:26px;color:var(--soft)}
.findings{display:grid;gap:14px}
.finding-head{display:grid;grid-template-columns:auto minmax(0,1fr) auto;gap:4px 14px;align-items:baseline;margin-bottom:8px}
.finding-head h3{font-size:1.02rem;margin:0;font-weight:650}
.finding-head .number{color:var(--faint);font-weight:650}
.finding-head .wins{color:var(--good);font-size:.9rem;font-weight:600;max-width:15em;text-align:right}
.finding{color:var(--soft);font-size:.92rem}
.finding h3,.finding b{color:var(--ink)}
.finding ul{margin:6px 0 0;padding-left:1.15em}
.finding .mind{margin-top:6px;color:var(--faint)}
.side{color:var(--soft);font-size:.95rem}
.side h3{color:var(--ink);margin-bottom:2px}
.side .source{color:var(--faint);font-size:.86rem;margin-bottom:8px}
.side .advice{color:var(--ink);margin-top:10px}
.below{margin-top:34px}
#step-lanes canvas{display:block;width:100%;touch-action:pan-y;cursor:crosshair;border-radius:4px}
#step-lanes canvas:focus-visible{outline:2px solid var(--accent);outline-offset:3px}
.lanes-bar{display:flex;flex-wrap:wrap;gap:8px 14px;align-items:center;margin:0 0 10px;font-size:.85rem;color:var(--soft)}
.lanes-bar input,.lanes-bar button{font:inherit;color:var(--ink);background:var(--card);border:1px solid var(--rule);border-radius:6px;
padding:3px 10px}
.lanes-bar input{width:200px}
.lanes-bar button{cursor:pointer}
a.place{color:inherit;text-decoration:underline dotted var(--faint);text-underline-offset:3px}
a.place:hover{color:var(--accent);text-decoration-color:var(--accent)}
.legend i.gap{clip-path:inset(45% 0 0 0)}
.lanes-found{flex:1;min-width:0}
.lanes-keys{display:flex;gap:6px}
.lanes-detail{font-size:.85rem;color:var(--soft);margin-top:8px;min-height:1.4em}
footer{margin-top:64px;padding-top:18px;border-top:1px solid var(--rule);color:var(--faint);font-size:.85rem}
#tip{position:fixed;z-index:9;max-width:340px;background:var(--ink);color:var(--page);font-size:.82rem;line-height:1.45;padding:7px 10px;
border-radius:6px;pointer-events:none;white-space:pre-line;left:0;top:0}
#tip[hidden]{display:none}
@media(min-width:1480px){
.contents{position:fixed;top:40px;left:calc(50% - 540px - 190px);width:180px;margin:0}
.contents ul{flex-direction:column;gap:7px}
}
@media(min-width:721px) and (max-width:960px){
table:has(td.rank) :is(th,tr.main td):is(:nth-child(6),:nth-child(7)){display:none}
}
@media(max-width:720px){
code.inline{white-space:normal}
body{font-size:15.5px}
main{padding:24px 22px 48px}
.verdict{font-size:1.5rem}
.tiles{grid-template-columns:repeat(2,1fr);margin-top:24px}
.tile{padding:12px 14px}.tile b{font-size:1.35rem}
section{margin-top:46px}
.card{padding:0;border:0;background:none}
svg.wide{display:none}svg.compact{display:block}
.grid-2{grid-template-columns:minmax(0,1fr);gap:30px}
.heads{display:none}
summary{grid-template-columns:11px minmax(0,1fr) auto 52px 12px;gap:9px}
summary .more{grid-column:5;grid-row:1}summary .gain-note{grid-column:2/-1;grid-row:2;text-align:left}summary .gain-note:empty{display:none}
summary .gain-note:not(:empty)::before{content:"a fix could win "}
.evidence{padding-left:20px}
table.cards thead{display:none}
table.cards,table.cards tbody,table.cards tr,table.cards td{display:block;width:auto}
table.cards td{padding:2px 0;border:0}
table.cards tr.main,table.cards tr.single{padding-top:12px;border-top:1px solid var(--rule)}
table.cards tr.single,table.cards tr.why{padding-bottom:12px}
table.cards td.n{display:inline-block;text-align:left;margin-right:14px;font-size:.9rem}
table.cards td[data-name]::before{content:attr(data-name) " ";color:var(--faint);font-size:.86em}
table.cards td.sharecell,table.cards td:empty{display:none}
table.cards td.rank{display:inline-block;margin:0 8px 0 0}table.cards td.rank:empty{display:none}
table.cards td.rank+td{display:inline}
dl{grid-template-columns:minmax(0,8em) minmax(0,1fr)}
.finding-head{grid-template-columns:auto minmax(0,1fr)}
.finding-head .wins{grid-column:2;max-width:none;text-align:left}
.finding{padding-bottom:16px;border-bottom:1px solid var(--rule)}
}
@media(prefers-reduced-motion:reduce){summary .more{transition:none}}
@media print{body{background:#fff}.contents{display:none}section{break-inside:avoid}.tabs>.bar,.command button{display:none}}
)css";

}  // namespace

std::string style() { return tone_rules() + std::string(kSheet) + fill_rules(); }

}  // namespace hone::report::html
