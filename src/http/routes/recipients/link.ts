import { load } from '../../../commands/execute.ts';
import {
  findLinkedRecipient,
  type LinkedRecipient,
  type RecipientRequest,
} from '../../../commands/message/unsubscribe-recipient.ts';
import { addressClassOf } from '../../../domain/kernel/addresses.ts';
import { sendingDomainStream, topicStream } from '../../../domain/kernel/streams.ts';
import { sendingDomain } from '../../../domain/sending-domain/sending-domain.ts';
import { type ExistingTopic, topic } from '../../../domain/topic/topic.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import type { PageCall } from '../../pages/define-page.ts';
import type { Sentences } from '../../pages/locales/en.ts';
import type { Sender } from '../../pages/page.ts';
import { TOPICS_MAX } from '../topics.ts';

/** Facts about a mail for the pages behind its unsubscribe link. */

export type Context = Pick<HttpDependencies, 'context' | 'readModels'>;

/** Content of the pages behind a link. */
export interface LinkPage {
  readonly recipient: LinkedRecipient;
  readonly sender: Sender;
  /** Topic of the message; null: no topic. */
  readonly topic: ExistingTopic | null;
  readonly say: Sentences;
  readonly token: string;
}

export const senderOf = async ({ context }: Context, { message: { state } }: LinkedRecipient): Promise<Sender> => {
  const { domainId, fromDomain } = state.accepted;
  const { state: domain } = await load(context.store, sendingDomain, sendingDomainStream(domainId));
  const branding = domain.status === 'absent' ? null : domain.branding;
  return { name: branding?.name ?? fromDomain, color: branding?.color ?? null, logoUrl: branding?.logoUrl ?? null };
};

/** Deleted or not: the mail was about it. */
const topicOf = async (
  { context }: Context,
  { message: { state } }: LinkedRecipient,
): Promise<ExistingTopic | null> => {
  const { topic: named } = state.accepted;
  if (named === undefined) return null;
  const { state: found } = await load(context.store, topic, topicStream(named.id));
  return found.status === 'absent' ? null : found;
};

/** @throws {DomainError} `not_found`. */
export const openLink = async (deps: Context, { token, locale }: PageCall): Promise<LinkPage> => {
  const recipient = await findLinkedRecipient(deps.context, 'unsubscribe', token);
  const [sender, about] = await Promise.all([senderOf(deps, recipient), topicOf(deps, recipient)]);
  return { recipient, sender, topic: about, say: locale.say, token };
};

/** Topics of the sender, oldest first. */
export const topicsOf = async (
  { readModels }: Context,
  { message: { state } }: LinkedRecipient,
): Promise<readonly ExistingTopic[]> => {
  const { organizationId, accepted } = state;
  const by = { organizationId, domainId: accepted.domainId, limit: TOPICS_MAX, after: null };
  return (await readModels.topics.list(by)).items.toReversed();
};

export const requestOf = ({ request }: PageCall): RecipientRequest => ({
  requestId: request.id,
  sourceClass: addressClassOf(request.ip),
});
