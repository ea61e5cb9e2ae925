/** State drawing: the states of a resource as SVG, and its transitions as a list. Part 3, states. */
import type { StateArrows } from '../describe/state-diagram.ts'
import { html, type Markup } from './markup.ts'

const rowHeight = 26
const gap = 14
const letter = 7.4 // the width of a letter at 12 px
const laneWidth = 14

interface Drawn {
  readonly state: string
  readonly y: number
  readonly height: number
}

/** States in the order in which they can be reached. */
function reached({ states, initial, arrows }: StateArrows): readonly string[] {
  const order = new Set([initial])
  for (const state of order) for (const { from, to } of arrows) if (from === state) order.add(to)
  return [...order, ...states.filter((state) => !order.has(state))]
}

/**
 * States are drawn below each other. An arrow leaves its state to the right, past its own label, goes up or down in a lane of
 * its own and enters the other state, so that no label is crossed.
 */
export function stateDrawing(title: string, diagram: StateArrows): Markup {
  const order = reached(diagram)
  let top = gap
  const boxes = new Map<string, Drawn>()
  for (const state of order) {
    const ports = diagram.arrows.filter(({ from, to }) => from === state || to === state).length
    const height = Math.max(1, ports) * rowHeight
    boxes.set(state, { state, y: top, height })
    top += height + gap
  }
  const wide = Math.max(...order.map(({ length }) => length)) * letter + 28
  const labels = wide + Math.max(0, ...diagram.arrows.map(({ label }) => label.length)) * letter + 24
  const used = new Map<string, number>()
  const port = (state: string): number => {
    const { y } = boxes.get(state) as Drawn
    const nth = used.get(state) ?? 0
    used.set(state, nth + 1)
    return y + nth * rowHeight + rowHeight / 2
  }
  const width = labels + (diagram.arrows.length + 1) * laneWidth
  const paths = diagram.arrows.map(({ from, to, label }, i) => {
    const start = port(from)
    const end = from === to ? start + 10 : port(to)
    const lane = labels + (i + 1) * laneWidth
    return html`<path d="M${wide} ${start}H${lane}V${end}H${wide + 6}"/><path class="tip" d="M${wide} ${end}l8-4v8z"/><text x="${wide + 14}" y="${start - 4}">${label}</text>`
  })
  const drawn = [...boxes.values()].map(
    ({ state, y, height }) =>
      html`<rect x="8" y="${y}" width="${wide - 8}" height="${height}" rx="6"/><text class="state" x="20" y="${y + height / 2 + 4}">${state}</text>${state === diagram.initial && html`<circle cx="8" cy="${y + height / 2}" r="5"/>`}`,
  )
  const size = html`width="${width}" height="${top}" viewBox="0 0 ${width} ${top}"`
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${title}"><svg role="img" aria-label="${title}; the list below says the same" ${size}>${paths}${drawn}</svg></div>
<p>It begins as <code>${diagram.initial}</code>.</p><ul>${diagram.arrows.map(({ from, to, label }) => html`<li><code>${from}</code> → <code>${to}</code>: ${label}</li>`)}</ul>`
}
