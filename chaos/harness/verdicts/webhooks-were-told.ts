import { type CustomerEvent, customerEvents } from '../../../src/domain/customer-events/customer-events.ts';
import type { Evidence } from '../evidence.ts';
import type { Violation } from '../violation.ts';
import type { ReceivedPost } from '../webhook-receiver.ts';

const violation = (what: string): Violation => ({ promise: 'webhooks', what });

/** Message events, to which the endpoint subscribed before the first one happened. */
const owed = ({ events }: Evidence): readonly CustomerEvent[] =>
  events.flatMap(customerEvents).filter(({ type }) => type.startsWith('message.'));

interface PostedEvent {
  readonly id: string;
  readonly type: string;
  readonly sequence: number;
  readonly data: { readonly message_id?: string; readonly recipient?: { readonly id: string } };
}

const eventIn = ({ body }: ReceivedPost): PostedEvent => JSON.parse(body) as PostedEvent;

/** Identifies the event in a post by its content instead of its id. */
const happeningOf = ({ type, sequence, data }: PostedEvent): string =>
  `${type} ${sequence} of ${data.message_id} for ${data.recipient?.id}`;

const problemsOf = (posts: readonly ReceivedPost[], isKnown: (id: string) => boolean): readonly Violation[] =>
  posts.flatMap((post) => {
    if (!isKnown(post.id)) return [violation(`a post has the id ${post.id}, which no event of the log has`)];
    return eventIn(post).id === post.id
      ? []
      : [violation(`a post with id ${post.id} contains event ${eventIn(post).id}`)];
  });

const renumbered = (posts: readonly ReceivedPost[]): readonly Violation[] =>
  [...Map.groupBy(posts, (post) => happeningOf(eventIn(post)))].flatMap(([happening, same]) => {
    const ids = new Set(same.map(({ id }) => id));
    return ids.size > 1 ? [violation(`${happening} was posted under ${ids.size} ids`)] : [];
  });

/** Every message event must be posted at least once, always with the same id, and nothing else may be posted. */
export const webhooksWereTold = (evidence: Evidence): readonly Violation[] => {
  const { posts } = evidence;
  const expected = new Map(owed(evidence).map((event) => [event.id, event]));
  const told = new Set(posts.map(({ id }) => id));
  const untold = [...expected.values()].filter(({ id }) => !told.has(id));
  return [
    ...untold.map(({ id, type, subjectId }) => violation(`${type} of ${subjectId} (${id}) was never told`)),
    ...problemsOf(posts, (id) => expected.has(id)),
    ...renumbered(posts),
  ];
};
