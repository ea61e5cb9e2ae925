/** Page frame: the frame of every page with its style and script, and the policy that allows only these. Part 13. */
import { hash } from 'node:crypto'
import { html, Markup } from './markup.ts'
import { script } from './script.ts'
import { style } from './style.ts'

interface PageParts {
  readonly title: string
  readonly header: Markup
  readonly contents?: Markup
  readonly main: Markup
  /** Whether requests can be sent from the page. */
  readonly sends: boolean
}

/** A whole page. */
export const framedPage = ({ title, header, contents, main, sends }: PageParts): string =>
  html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><title>${title}</title><link rel="icon" href="data:,"><style>${new Markup(style)}</style></head>
<body><a class="skip" href="#main">Skip to the content</a>
<header>${header}</header>
${contents && html`<nav class="contents" aria-label="Contents">${contents}</nav>`}
<main id="main" tabindex="-1">${main}</main>
${sends && html`<script>${new Markup(script)}</script>`}</body></html>
`.text

const sourceOf = (text: string): string => `'sha256-${hash('sha256', text, 'base64')}'`

/** The headers of pages. Nothing but the own style and script runs, and requests go to the service only. */
export const pageHeaders: Readonly<Record<string, string>> = {
  'Content-Security-Policy': [
    "default-src 'none'",
    `style-src ${sourceOf(style)}`,
    `script-src ${sourceOf(script)}`,
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'Referrer-Policy': 'no-referrer',
}
