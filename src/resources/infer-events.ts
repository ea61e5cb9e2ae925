/** Infer events: the types of events, inferred from the declaration of a service. Part 6. R205, R207, R208. */
import type {
  DeclarationOf,
  EventPrefix,
  Get,
  Item,
  PairName,
  ParentFieldName,
  ResourceName,
  ResourceOf,
} from './infer.ts'
import type { StatesDeclaration, TransitionDeclaration } from './states.ts'

/** The resources and pairs whose changes are recorded: by their own `events`, else by that of the service. */
type RecordedName<D> = {
  [R in NameOf<D>]: [Get<ResourceOf<D, R>, 'events', Get<D, 'events', false>>] extends [false] ? never : R
}[NameOf<D>]
type NameOf<D> = ResourceName<D> | PairName<D>

/** What happens to an item; a transition is named by the state that it leads to. */
type Action<T> = 'created' | 'updated' | 'deleted' | EnteredState<T>
type EnteredState<T> = T extends { readonly states: infer S extends StatesDeclaration }
  ? Target<S['transitions'][keyof S['transitions']]>
  : never
type Target<T extends TransitionDeclaration> = T['to']
type TypeOf<D, R extends string> = `${EventPrefix<D, R>}.${Action<ResourceOf<D, R>>}`

/**
 * The types of the events of a service, in its newest version.
 * @example const type: EventType<typeof api> = 'note.created'
 */
export type EventType<S> = TypesOf<DeclarationOf<S>>
type TypesOf<D> = { [R in RecordedName<D>]: TypeOf<D, R> }[RecordedName<D>]

/** The fields that identify the item: its id, and the field of its owner or of both sides of a pair, if the id is unique only there. */
type IdentifyingField<D, R> =
  | 'id'
  | (R extends PairName<D> ? ParentFieldName<D, R> : never)
  | (ResourceOf<D, R> extends { readonly key: string; readonly parent: unknown } ? ParentFieldName<D, R> : never)

/** An event as reactions get it: in the form of Standard Webhooks, with the whole item. */
interface PlainEvent<Type, Data> {
  /** The same in every delivery and every try, so that it fits as an idempotency key: `evt_…`. */
  readonly id: string
  readonly type: Type
  readonly timestamp: string
  readonly version: string
  /** The revision of the item. */
  readonly sequence: number
  /** The item after the change; a deleted one as it was last. */
  readonly data: Data
}

/** A structured CloudEvent. R208. */
interface CloudEvent<Type, Data> {
  readonly specversion: '1.0'
  readonly id: string
  readonly source: string
  readonly type: Type
  /** The id of the item. */
  readonly subject: string
  readonly time: string
  readonly datacontenttype: 'application/json'
  /** It names the version. */
  readonly dataschema: string
  /** The revision of the item, as a text. */
  readonly sequence: string
  readonly data: Data
}

/** The events of some types, as reactions get them. */
export type ReactionEvent<D, Type> = {
  [R in RecordedName<D>]: Type extends TypeOf<D, R> ? PlainEvent<Type, Item<D, R>> : never
}[RecordedName<D>]

/** The payload of a resource is its own setting, else that of the service. */
type Payload<D, R> = Get<SettingsOf<ResourceOf<D, R>>, 'payload', Get<SettingsOf<D>, 'payload'>>
type SettingsOf<T> = Get<Get<T, 'settings'>, 'events'>
type Data<D, R extends NameOf<D>> = [Payload<D, R>] extends ['thin']
  ? { readonly [K in IdentifyingField<D, R>]: string }
  : Item<D, R>
type Form<D, Type, Content> =
  SettingsOf<D> extends { readonly format: 'cloudevents' } ? CloudEvent<Type, Content> : PlainEvent<Type, Content>

/**
 * An event as `GET /events`, the stream and webhooks send it in the newest version; `type` tells what `data` is. R207.
 * @example const text = (event: EventOf<typeof api>): string => `${event.type} ${event.data.id}`
 */
export type EventOf<S> = EventsOf<DeclarationOf<S>>
type EventsOf<D> = EventsByName<D>[RecordedName<D>]
type EventsByName<D> = {
  [R in RecordedName<D>]: { [Type in TypeOf<D, R>]: Form<D, Type, Data<D, R>> }[TypeOf<D, R>]
}

/** The events of some types and resources. */
export type ChosenEvent<D, Type, R> = Extract<
  [ResourceName<D>] extends [R] ? EventsOf<D> : Get<EventsByName<D>, R>,
  { readonly type: Type }
>
