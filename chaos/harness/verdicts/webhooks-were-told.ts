import { type CustomerEvent, customerEvents } from '../../../src/domain/customer-events.ts';
import type { Evidence } from '../evidence.ts';
import type { Violation } from '../violation.ts';
import type { ReceivedPost } from '../webhook-receiver.ts';

const violation = (what: string): Violation => ({ promise: 'webhooks', what });

/** Of messages: the endpoint asked for these, and was there before the first. */
const owed = ({ events }: Evidence): readonly CustomerEvent[] =>
  events.flatMap(customerEvents).filter(({ type }) => type.startsWith('message.'));

interface Told {
  readonly id: string;
  readonly type: string;
  readonly sequence: number;
  readonly data: { readonly message_id?: string; readonly recipient?: { readonly id: string } };
}

const toldBy = ({ body }: ReceivedPost): Told => JSON.parse(body) as Told;

/** What one post says that happened, whatever its id. */
const happeningOf = ({ type, sequence, data }: Told): string =>
  `${type} ${sequence} of ${data.message_id} for ${data.recipient?.id}`;

const problemsOf = (posts: readonly ReceivedPost[], isKnown: (id: string) => boolean): readonly Violation[] =>
  posts.flatMap((post) => {
    if (!isKnown(post.id)) return [violation(`a post has the id ${post.id}, which no event of the log has`)];
    return toldBy(post).id === post.id ? [] : [violation(`a post with id ${post.id} tells of ${toldBy(post).id}`)];
  });

const renumbered = (posts: readonly ReceivedPost[]): readonly Violation[] =>
  [...Map.groupBy(posts, (post) => happeningOf(toldBy(post)))].flatMap(([happening, same]) => {
    const ids = new Set(same.map(({ id }) => id));
    return ids.size > 1 ? [violation(`${happening} was told under ${ids.size} ids`)] : [];
  });

/** Every event of a message was told at least once, each time with the same id, and nothing else was told. */
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
