import { apiKey, apiKeyStream } from '../../../domain/api-key/api-key.ts';
import { type Aggregate, fold } from '../../../domain/decider.ts';
import type { OutboxEvent } from '../../../domain/events.ts';
import { type ExistingMessage, message, messageStream } from '../../../domain/message/message.ts';
import type { MessageBody } from '../../../domain/ports/contents.ts';
import type { Position, StreamName } from '../../../domain/ports/event-store.ts';
import { sendingDomain, sendingDomainStream } from '../../../domain/sending-domain/sending-domain.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import { type Circumstances, type Known, quotedIn } from '../../serialize/explain/explain-message.ts';
import type { Happening } from '../../serialize/explain/explanation.ts';
import { deliveriesOf } from './deliveries-of.ts';
import { readStreamOf } from './read-stream-of.ts';
import { standingsOf } from './standings-of.ts';
import { suspensionsOf } from './suspensions-of.ts';

/** A larger body is not read for what is told of its checks: attachments can be 25 MB. */
const BODY_BYTES_MAX = 2_000_000;

/** What a stream came to before this position. */
const stateAt = async <State, E extends OutboxEvent>(
  { context }: HttpDependencies,
  aggregate: Aggregate<State, E>,
  { stream, before }: { readonly stream: StreamName; readonly before: Position },
): Promise<State> => {
  const events = await readStreamOf(context.store, stream);
  return fold(
    aggregate,
    events.filter(({ position }) => position < before),
  );
};

const bodyOf = async ({ context }: HttpDependencies, { accepted }: ExistingMessage): Promise<MessageBody | null> => {
  if (accepted.sizeBytes > BODY_BYTES_MAX) return null;
  const found = (await context.contents.get([accepted.contentId])).get(accepted.contentId);
  return found?.kind === 'message' ? found : null;
};

const circumstancesOf = async (
  deps: HttpDependencies,
  existing: ExistingMessage,
  before: Position,
): Promise<Circumstances> => {
  const { keyId, domainId } = existing.accepted;
  const [key, domain, body] = await Promise.all([
    stateAt(deps, apiKey, { stream: apiKeyStream(keyId), before }),
    stateAt(deps, sendingDomain, { stream: sendingDomainStream(domainId), before }),
    bodyOf(deps, existing),
  ]);
  return {
    keyName: key.status === 'absent' ? null : key.name,
    verification: domain.status === 'absent' ? null : domain.verification,
    hadHtml: body?.html !== undefined,
    analysis: body?.analysis ?? null,
  };
};

/** Everything that the explanation of a message is made of. @param id of a message that there is. */
export const whatIsKnown = async (deps: HttpDependencies, id: string): Promise<Known> => {
  const { context } = deps;
  // The stream of a message holds events of its family only.
  const happenings = (await readStreamOf(context.store, messageStream(id))) as readonly Happening[];
  const state = fold(message, happenings);
  const [first] = happenings;
  if (state.status === 'absent' || first === undefined) throw new Error('the message has been read before');
  const now = context.system.now().toISOString();
  const [contents, circumstances, told, suspensions, standings] = await Promise.all([
    context.contents.heads(quotedIn(state, happenings)),
    circumstancesOf(deps, state, first.position),
    deliveriesOf(deps, state, happenings),
    suspensionsOf(deps, state, now),
    standingsOf(deps, state),
  ]);
  return { message: state, happenings, contents, circumstances, ...told, suspensions, standings, now };
};
