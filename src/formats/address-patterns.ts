/** Address patterns: the patterns of e-mail addresses and of URLs. Part 2, fields. */

export const emailPattern =
  /^(?=[^@]{1,64}@)[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*@[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)+$/
export const urlPattern = /^[Hh][Tt]{2}[Pp][Ss]?:\/\/[^\s\\]+$/
