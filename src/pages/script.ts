/** Script: shows the address of the service in code, and sends requests with a key that only the page's memory holds. Part 13. */

/** The script of the page. It makes elements and sets their text; it never parses HTML, and stores nothing. */
export const script = `
'use strict'
const make = (name, options, ...inside) => {
  const made = Object.assign(document.createElement(name), options)
  made.append(...inside)
  return made
}
for (const one of document.querySelectorAll('.origin')) one.textContent = location.origin
const key = make('input', { type: 'password', autocomplete: 'off', spellcheck: false })
document.getElementById('key-place').append(make('label', {}, 'API key, kept until the page is closed ', key))
const field = (label, control) => [make('label', {}, label, control), control]
async function send({ method, headers, keyHeader }, path, body, output) {
  output.textContent = 'Sending…'
  const started = performance.now()
  try {
    const all = new Headers(body === undefined ? headers.filter(([name]) => name !== 'Content-Type') : headers)
    if (keyHeader && key.value !== '') all.set(keyHeader, (keyHeader === 'Authorization' ? 'Bearer ' : '') + key.value)
    const answer = await fetch(path, { method, headers: all, body, credentials: 'omit', cache: 'no-store' })
    const text = await answer.text()
    const lines = [...answer.headers].map(([name, value]) => name + ': ' + value)
    let shown = text
    try { shown = JSON.stringify(JSON.parse(text), null, 2) } catch {}
    const took = Math.round(performance.now() - started) + ' ms'
    output.replaceChildren(make('p', {}, answer.status + ' ' + answer.statusText + ', ' + took), make('pre', {}, lines.join('\\n')), make('pre', {}, shown))
  } catch (error) {
    output.textContent = 'No answer came: ' + error.message
  }
}
function formFor(request) {
  const { method, template, body } = request
  const places = [...template.matchAll(/\\{([^}]+)\\}/g)].map(([, name]) => [name, ...field(name, make('input', { required: true, autocomplete: 'off' }))])
  const [queryLabel, query] = field('Query, as a=1&b=2', make('input', { autocomplete: 'off' }))
  const hasBody = request.headers.some(([name]) => name === 'Content-Type')
  const [bodyLabel, text] = field('Content', make('textarea', { rows: 6, value: typeof body === 'string' ? body : body === undefined ? '' : JSON.stringify(body, null, 2), autocomplete: 'off' }))
  const output = make('output')
  output.setAttribute('aria-live', 'polite')
  const form = make('form', { autocomplete: 'off' }, ...places.map(([, label]) => label), queryLabel, ...(hasBody ? [bodyLabel] : []), make('button', {}, 'Send ' + method), output)
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    const path = places.reduce((at, [name, , input]) => at.replace('{' + name + '}', () => encodeURIComponent(input.value)), template)
    const asked = query.value.replace(/^\\?/, '')
    send(request, path + (asked === '' ? '' : '?' + asked), hasBody && text.value !== '' ? text.value : undefined, output)
  })
  return form
}
for (const one of document.querySelectorAll('.op')) {
  const request = JSON.parse(one.dataset.request)
  const details = make('details', {}, make('summary', {}, 'Send this request'))
  details.addEventListener('toggle', () => {
    if (details.open && details.childElementCount === 1) details.append(formFor(request))
  })
  one.querySelector('.code').append(details)
}
// Only pages from HTTPS or from this machine may write to the clipboard.
for (const one of navigator.clipboard ? document.querySelectorAll('.code > div') : []) {
  const copy = make('button', { className: 'copy', type: 'button', ariaLive: 'polite' }, 'Copy')
  copy.addEventListener('click', async () => {
    const shown = [...one.querySelectorAll('pre')].find((pre) => pre.offsetParent !== null)
    await navigator.clipboard.writeText(shown.textContent)
    copy.textContent = 'Copied'
    setTimeout(() => { copy.textContent = 'Copy' }, 2000)
  })
  one.querySelector('h4').after(copy)
}
const contents = document.querySelector('.contents')
const links = new Map([...contents.querySelectorAll('a')].map((one) => [one.hash.slice(1), one]))
const parts = [...links.keys()].map((id) => document.getElementById(id))
const seen = new IntersectionObserver(() => {
  const above = parts.filter((one) => one.getBoundingClientRect().top < innerHeight / 4)
  for (const one of links.values()) one.removeAttribute('aria-current')
  const link = links.get((above.at(-1) ?? parts[0]).id)
  link.setAttribute('aria-current', 'location')
  const { top, bottom } = link.getBoundingClientRect()
  // On a narrow screen the contents are a part of the page, which must not scroll back to them.
  if (contents.scrollHeight > contents.clientHeight && (top < 0 || bottom > innerHeight)) contents.scrollTop = link.offsetTop - innerHeight / 2
}, { rootMargin: '0px 0px -75% 0px' })
for (const one of parts) seen.observe(one)
`
