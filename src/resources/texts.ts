/** Values that travel as texts: whole numbers and decimals, codes of countries (ISO 3166-1 alpha-2) and currencies (ISO 4217). Part 2, fields. */

export const wholeForm = /^-?(0|[1-9][0-9]{0,18})$/
const fractional = /^(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?$/
const least = -(2n ** 63n)
const most = 2n ** 63n - 1n

/** An e-mail address, and the beginning of every URL that is taken. */
export const emailForm =
  /^(?=[^@]{1,64}@)[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*@[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)+$/
export const urlForm = /^[Hh][Tt]{2}[Pp][Ss]?:\/\/[^\s\\]+$/

/** The pattern of a decimal: as it is answered, padded to its scale, or as it may be sent. R44. */
export function decimalForm(precision: number, scale: number, padded: boolean): string {
  const units = precision > scale ? `(0|[1-9][0-9]{0,${precision - scale - 1}})` : '0'
  const fraction = padded ? `\\.[0-9]{${scale}}` : `(\\.[0-9]{1,${scale}})?`
  return `^-?${units}${scale === 0 ? '' : fraction}$`
}

/** The text of a 64-bit number, or why it is none. */
export function bigint(text: string): string | 'format' | 'range' {
  if (!wholeForm.test(text)) return /^-?[1-9][0-9]{19,}$/.test(text) ? 'range' : 'format'
  const value = BigInt(text)
  return value < least || value > most ? 'range' : String(value)
}

/** The text of a decimal padded to its scale, or why it is none. R44. */
export function decimal(text: string, precision: number, scale: number): string | 'format' | 'digits' | 'range' {
  const [, sign, units, fraction = ''] = fractional.exec(text) ?? []
  if (units === undefined) return 'format'
  if (fraction.length > scale) return 'digits'
  if ((units === '0' ? 0 : units.length) > precision - scale) return 'range'
  const digits = scale === 0 ? units : `${units}.${fraction.padEnd(scale, '0')}`
  return sign && /[1-9]/.test(digits) ? `-${digits}` : digits
}

/** A decimal of a known scale as a whole number of its smallest steps, for comparing; digits beyond the scale do not count. */
export function scaled(text: string, scale: number): bigint {
  const [units = '', fraction = ''] = text.split('.')
  return BigInt(units + fraction.padEnd(scale, '0').slice(0, scale))
}

/** A whole number of any size as text whose order is that of the numbers: for precisions beyond 64 bits. */
export function sortable(value: bigint, digits: number): string {
  if (value >= 0n) return `1${String(value).padStart(digits, '0')}`
  return `0${String(10n ** BigInt(digits) + value).padStart(digits, '0')}`
}

const assigned =
  'AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ CA CC CD CF CG CH CI CK ' +
  'CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS ' +
  'GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV ' +
  'LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM ' +
  'PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR ' +
  'TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW'

/** Those in use, and the ones withdrawn in the last years, which stand in older documents. A list of its own: that of the engine changes with it. */
const used =
  'AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLP CNY COP CRC CUC CUP ' +
  'CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HRK HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY ' +
  'KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR ' +
  'NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SLL SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND ' +
  'TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VED VES VND VUV WST XAF XCD XCG XDR XOF XPF XSU YER ZAR ZMW ZWG ZWL'

export const countries: ReadonlySet<string> = new Set(assigned.split(' '))

export const currencies: ReadonlySet<string> = new Set(used.split(' '))
