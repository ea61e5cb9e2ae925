/** Style: the style sheet of the pages, light and dark, down to 360 px. Part 13. */

export const style = `
:root{--ground:#fff;--raised:#f6f7f9;--text:#1b2027;--soft:#57606c;--line:#dfe3e8;--link:#0b5cad;--code:#f0f2f5;--panel:#161c24;--panel-text:#e3e9f0;--get:#0a6640;--post:#0b5cad;--put:#7a4a00;--delete:#a4262c}
@media(prefers-color-scheme:dark){:root{--ground:#12161b;--raised:#1a2027;--text:#e6e9ed;--soft:#a3adb9;--line:#2c343d;--link:#7db8f5;--code:#20262e;--panel:#0b0e12;--get:#6fd19b;--post:#7db8f5;--put:#e3b36b;--delete:#f39a9a}}
*{box-sizing:border-box}
html{scroll-padding-top:4.5rem}
body{margin:0;background:var(--ground);color:var(--text);font:15px/1.6 system-ui,sans-serif;overflow-wrap:anywhere}
a{color:var(--link);text-underline-offset:.15em}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
main:focus{outline:0}
.skip{position:absolute;left:-999px}
.skip:focus{left:1rem;top:1rem;background:var(--ground);padding:.5rem;z-index:2}
header{display:flex;flex-wrap:wrap;align-items:center;gap:.5rem 1.5rem;padding:.6rem 1rem;border-bottom:1px solid var(--line);background:var(--raised)}
header p,header ul,header fieldset{margin:0;padding:0;border:0}
.name{font-weight:600}
.name a{color:inherit;text-decoration:none;font-size:1.1rem}
.name span{color:var(--soft);font-weight:400}
.versions{display:flex;gap:.75rem;list-style:none}
.versions [aria-current]{color:inherit;font-weight:600;text-decoration:none}
.languages{display:flex;border-radius:6px}
.languages legend{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.languages label{padding:.2rem .7rem;border:1px solid var(--soft);margin-left:-1px;cursor:pointer;font-size:.9rem}
.languages label:first-of-type{border-radius:6px 0 0 6px}
.languages label:last-of-type{border-radius:0 6px 6px 0}
.languages label:has(:checked){background:var(--text);color:var(--ground)}
.languages label:has(:focus-visible){outline:3px solid var(--link);outline-offset:2px;z-index:1}
.languages input{position:absolute;opacity:0}
#key-place{font-size:.9rem}
main{padding:1rem;max-width:100rem}
h1{font-size:1.9rem;line-height:1.25;margin:.5rem 0 1rem;letter-spacing:-.01em}
h2{font-size:1.45rem;margin:3rem 0 .5rem;padding-top:1.5rem;border-top:1px solid var(--line);letter-spacing:-.01em}
h3{font-size:1.15rem;margin:1.75rem 0 .5rem}
h3 a{color:inherit;text-decoration:none}
h3 a:hover{text-decoration:underline}
h4{font-size:.8rem;margin:1.5rem 0 .25rem;text-transform:uppercase;letter-spacing:.05em;color:var(--soft)}
h4 a{color:inherit}
code,pre,svg,textarea{font-family:ui-monospace,SFMono-Regular,Menlo,monospace;font-size:.85em}
code{background:var(--code);border-radius:4px;padding:.1em .35em}
pre{background:var(--panel);color:var(--panel-text);border-radius:8px;padding:.9rem 1rem;margin:.5rem 0;white-space:pre-wrap;font-size:.8rem;line-height:1.5}
pre b{font-weight:inherit}
dl{margin:.25rem 0}
dl>div{padding:.55rem 0;border-top:1px solid var(--line)}
dl>div:first-child{border-top:0}
dt code{font-weight:600;background:none;padding:0}
dt span{color:var(--soft);font-size:.85rem;margin-left:.3rem}
dd{margin:.1rem 0 0;font-size:.9rem}
em{font-style:normal;font-size:.75rem;color:var(--soft);white-space:nowrap;margin-left:.3rem}
em.required{color:var(--delete);font-weight:600}
summary{cursor:pointer;padding:.25rem 0}
.route{display:flex;flex-wrap:wrap;align-items:center;gap:.5rem;font-size:1.05rem}
.route b{font:700 .75rem/1 ui-monospace,SFMono-Regular,Menlo,monospace;border:1px solid;border-radius:5px;padding:.35em .6em}
.GET,.QUERY{color:var(--get)}.POST{color:var(--post)}.PUT,.PATCH{color:var(--put)}.DELETE{color:var(--delete)}
.op{border-top:1px solid var(--line);margin-top:2.5rem;padding-top:.5rem}
.code h4{margin-top:1rem}
.code div{position:relative}
.copy{position:absolute;top:0;right:0;font-size:.75rem;padding:.1rem .5rem}
body:has(#in-curl:checked) :is(.TypeScript,.Python),body:has(#in-TypeScript:checked) :is(.curl,.Python),body:has(#in-Python:checked) :is(.curl,.TypeScript){display:none}
.scroll{overflow-x:auto}
svg path,svg rect{fill:none;stroke:var(--soft)}
svg rect{fill:var(--raised)}
svg .tip,svg circle{fill:var(--soft);stroke:none}
svg text{fill:var(--text);font-size:12px}
svg .state{font-weight:600}
.contents{padding:.5rem 1rem;border-bottom:1px solid var(--line)}
.contents ul{list-style:none;margin:0;padding:0;display:flex;flex-wrap:wrap;gap:.25rem 1rem}
.contents ul ul{display:none}
button,input,textarea{font:inherit;color:inherit;background:var(--ground);border:1px solid var(--soft);border-radius:6px;padding:.3rem .6rem;max-width:100%}
button{cursor:pointer;background:var(--raised)}
form label{display:block;margin:.5rem 0}
form input,textarea{display:block;width:100%}
textarea{font:.8rem/1.5 ui-monospace,SFMono-Regular,Menlo,monospace}
form output{display:block}
@media(min-width:60rem){
body{display:grid;grid-template-columns:18rem minmax(0,1fr)}
header{grid-column:1/-1;position:sticky;top:0;z-index:1;min-height:3.5rem}
main:only-of-type{padding:1rem 2.5rem}
body:not(:has(.contents)) main{grid-column:1/-1;max-width:50rem}
.contents{position:sticky;top:3.5rem;height:calc(100vh - 3.5rem);overflow-y:auto;border:0;border-right:1px solid var(--line);font-size:.875rem;padding:1rem .5rem}
.contents ul{display:block}
.contents ul ul{display:block;margin-bottom:.75rem}
.contents>ul>li:has(ul)>a{font-weight:600}
.contents a{display:block;padding:.2rem .5rem;border-radius:6px;color:inherit;text-decoration:none}
.contents ul ul a{display:grid;grid-template-columns:3.6rem 1fr;align-items:baseline;color:var(--soft)}
.contents a:hover{background:var(--raised);color:var(--text)}
.contents a[aria-current]{background:var(--code);color:var(--text)}
.contents b{font:700 .65rem/1 ui-monospace,SFMono-Regular,Menlo,monospace}
}
@media(min-width:80rem){
.op{display:grid;grid-template-columns:minmax(0,1fr) minmax(0,28rem);gap:2.5rem}
.code{position:sticky;top:3.5rem;align-self:start;max-height:calc(100vh - 3.5rem);overflow-y:auto;padding:1.25rem 0}
main>section>:not(.op,h2){max-width:46rem}
}
`
