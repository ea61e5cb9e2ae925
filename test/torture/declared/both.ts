/** The declaration of a rolling upgrade that is called `both`. */
export { both as default } from './rolling.ts'
