/** Markup: HTML in which every value is escaped, and the part of Markdown that descriptions use. Part 13. */

/** HTML that needs no escaping. */
export class Markup {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

type Content = string | number | Markup | null | undefined | false | readonly Content[]

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function contentText(content: Content): string {
  if (content instanceof Markup) return content.text
  if (content === null || content === undefined || content === false) return ''
  if (typeof content === 'object') return content.map(contentText).join('')
  return String(content).replace(/[&<>"']/g, (one) => entities[one] as string)
}

/** HTML whose values are escaped, unless they are Markup. */
export const html = (parts: TemplateStringsArray, ...values: readonly Content[]): Markup =>
  new Markup(parts.map((part, i) => part + contentText(values[i])).join(''))

/** A description: paragraphs, lists, fenced code, inline code and URLs. HTML in it is text. */
export const markdown = (text: string): Markup =>
  html`${text.split(/^```\w*\n([\s\S]*?)\n```$/m).map((part, i) => (i % 2 === 1 ? html`<pre>${part}</pre>` : blocksOf(part)))}`

const blocksOf = (text: string): Markup[] =>
  text
    .split(/\n\s*\n/)
    .filter((block) => block.trim() !== '')
    .map((block) => {
      const lines = block.trim().split('\n')
      return lines.every((line) => line.startsWith('- '))
        ? html`<ul>${lines.map((line) => html`<li>${inline(line.slice(2))}</li>`)}</ul>`
        : html`<p>${inline(block.trim())}</p>`
    })

/** A line of text with its code and its URLs. */
export const inline = (text: string): Markup =>
  html`${text.split(/`([^`]+)`/).map((part, i) => (i % 2 === 1 ? html`<code>${part}</code>` : linked(part)))}`

const linked = (text: string): Markup[] =>
  text
    .split(/(https?:\/\/[^\s<>"')]*[^\s<>"').,:;])/)
    .map((part, i) => (i % 2 === 1 ? html`<a href="${part}">${part}</a>` : html`${part}`))
