/** The types of pairs as they are inferred, and uses that do not compile; nothing here runs. */
import { type EventOf, type EventType, f, service } from 'bylaw'
import { client, type Tagged } from 'bylaw/client'
import type { Equal, Proof } from './equal.ts'

const declared = {
  name: 'school',
  events: true,
  versions: { v1: { released: '2026-01-01' }, v2: { released: '2026-06-01' } },
  scopes: { grades: 'See grades' },
  resources: {
    students: { fields: { name: f.text() }, embed: ['courses'], access: 'public' },
    courses: { fields: { title: f.text() }, embed: true, access: 'public' },
  },
  pairs: {
    enrolments: {
      between: ['students', 'courses'],
      fields: {
        role: f.enum(['learner', 'tutor'], { default: 'learner' }),
        grade: f.integer({ optional: true, read: 'grades' }),
        pin: f.text({ writeOnly: true, optional: true }),
      },
      access: { read: 'public', write: 'grades' },
    },
  },
} as const
const api = service(declared).change('v2', 'enrolments', { about: '`grade` is new.', added: ['grade'] })
const school = client<typeof api>({ url: 'http://localhost' })

interface Enrolment {
  readonly role: 'learner' | 'tutor'
  readonly grade?: number | null
}
interface Course {
  readonly id: string
  readonly title: string
  readonly createdAt: string
  readonly updatedAt: string
}

const courses = school.students('stu_1').courses
export const read = await courses.get('cou_1')
export const items = [read, await courses.link('cou_1', { role: 'tutor', pin: 'x' }), await courses.link(read)]
export const seen = (): Tagged<Course & { readonly _pair: Enrolment }> | null => items[1] ?? null
for await (const { _pair, title } of courses.list({ sort: 'createdAt' })) console.log(_pair.role, title)
for await (const { title, ...rest } of courses.list({ fields: ['title'] })) {
  // @ts-expect-error not with selected fields
  console.log(title, rest._pair)
}
export const embedded = await school.courses.get('cou_1', { embed: ['students'] })
export const role: 'learner' | 'tutor' | undefined = embedded._embedded.students.data[0]?._pair.role
await courses.unlink(read)
// @ts-expect-error no such field
await courses.link('cou_1', { rank: 1 })
// @ts-expect-error a pair has no list of its own
school.enrolments

export const types: Proof<
  Equal<
    Extract<EventType<typeof api>, `enrolment.${string}`>,
    'enrolment.created' | 'enrolment.updated' | 'enrolment.deleted'
  >
> = true
export const data = (event: EventOf<typeof api>): string | null =>
  event.type === 'enrolment.created' ? `${event.data.studentId} ${event.data.courseId} ${event.data.role}` : null

service({
  ...{ name: 'wrong', resources: declared.resources },
  pairs: {
    // @ts-expect-error no such resource
    first: { between: ['students', 'course'], access: 'public' },
    // @ts-expect-error no such scope
    second: { between: ['students', 'courses'], access: { read: 'public', write: 'grade' } },
    // @ts-expect-error no such member
    third: { between: ['students', 'courses'], field: {}, access: 'public' },
  },
})
