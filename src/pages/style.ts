/** Style: the style sheet of the pages, light and dark, down to 360 px. Part 13. */

export const style = `
:root{--ground:#fff;--raised:#f4f5f7;--text:#1c2026;--soft:#545d69;--line:#d9dde3;--link:#0b5cad;--code:#f0f2f5;--get:#0a6640;--post:#0b5cad;--put:#7a4a00;--delete:#a4262c}
@media(prefers-color-scheme:dark){:root{--ground:#14171b;--raised:#1c2026;--text:#e6e9ed;--soft:#a3adb9;--line:#343b44;--link:#7db8f5;--code:#20252c;--get:#6fd19b;--post:#7db8f5;--put:#e3b36b;--delete:#f39a9a}}
*{box-sizing:border-box}
html{scroll-padding-top:1rem}
body{margin:0;background:var(--ground);color:var(--text);font:16px/1.55 system-ui,sans-serif;overflow-wrap:anywhere}
a{color:var(--link)}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
main:focus{outline:0}
.skip{position:absolute;left:-999px}
.skip:focus{left:1rem;top:1rem;background:var(--ground);padding:.5rem;z-index:1}
header{display:flex;flex-wrap:wrap;align-items:center;gap:.5rem 1.5rem;padding:.75rem 1rem;border-bottom:1px solid var(--line);background:var(--raised)}
header p,header ul,header fieldset{margin:0;padding:0;border:0}
.name{font-weight:600}
.versions{display:flex;gap:.75rem;list-style:none}
[aria-current]{color:inherit;font-weight:600;text-decoration:none}
.languages{display:flex;flex-wrap:wrap;gap:0 .75rem}
.languages legend{float:left;margin-right:.75rem;color:var(--soft)}
main{padding:1rem;max-width:100rem}
h1{font-size:1.7rem;line-height:1.25;margin:.5rem 0 1rem}
h2{font-size:1.4rem;margin:2.5rem 0 .5rem;padding-top:1rem;border-top:1px solid var(--line)}
h3{font-size:1.1rem;margin:1.5rem 0 .5rem}
h3 a{color:inherit;text-decoration:none}
h3 a:hover{text-decoration:underline}
h4{font-size:.95rem;margin:1.25rem 0 .25rem}
code,pre,svg,textarea{font-family:ui-monospace,monospace;font-size:.85em}
code{background:var(--code);border-radius:3px;padding:.1em .3em}
pre{background:var(--code);border-radius:6px;padding:.75rem 1rem;margin:.5rem 0;white-space:pre-wrap;font-size:.8rem}
pre b{font-weight:inherit}
dl{margin:.25rem 0}
dl>div{padding:.4rem 0;border-top:1px solid var(--line)}
dl>div:first-child{border-top:0}
dt span{color:var(--soft);font-size:.85rem}
dd{margin:.1rem 0 0;font-size:.9rem}
em{font-style:normal;font-size:.75rem;border:1px solid var(--line);border-radius:9px;padding:.05rem .5rem;color:var(--soft);white-space:nowrap}
summary{cursor:pointer;padding:.25rem 0}
.route b{font-family:ui-monospace,monospace;color:var(--post)}
.route .GET,.route .QUERY{color:var(--get)}.route .PUT,.route .PATCH{color:var(--put)}.route .DELETE{color:var(--delete)}
.op{border-top:1px dashed var(--line);margin-top:1.5rem}
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
button,input,textarea{font:inherit;color:inherit;background:var(--ground);border:1px solid var(--soft);border-radius:4px;padding:.3rem .6rem;max-width:100%}
button{cursor:pointer;background:var(--raised)}
form label{display:block;margin:.5rem 0}
form input,textarea{display:block;width:100%}
form output{display:block}
@media(min-width:60rem){
body{display:grid;grid-template-columns:17rem minmax(0,1fr)}
header{grid-column:1/-1}
main:only-of-type{padding:1rem 2rem}
body:not(:has(.contents)) main{grid-column:1/-1;max-width:50rem}
.contents{position:sticky;top:0;height:100vh;overflow-y:auto;border:0;border-right:1px solid var(--line);font-size:.9rem}
.contents ul{display:block}
.contents ul ul{display:block;padding-left:1rem}
.contents li{padding:.15rem 0}
}
@media(min-width:80rem){
.op{display:grid;grid-template-columns:minmax(0,1fr) minmax(0,26rem);gap:2rem}
.code{position:sticky;top:0;align-self:start;max-height:100vh;overflow-y:auto;padding-top:1.5rem}
main>section>:not(.op,h2){max-width:46rem}
}
`
