import { load } from '../../commands/execute.ts';
import type { CustomerEvent } from '../../domain/customer-events/customer-events.ts';
import { inbound } from '../../domain/inbound/inbound.ts';
import type { EventStore } from '../../domain/kernel/event-store.ts';
import { inboundStream } from '../../domain/kernel/streams.ts';
import type { Contents, InboundBody } from '../../domain/ports/contents.ts';
import type { Secrets } from '../../domain/ports/secrets.ts';
import type { WebhookFormat } from '../../domain/webhook/events.ts';
import type { System } from '../../lib/async/async.ts';
import type { MailParser } from '../../lib/mime/mime.ts';
import { type LinkTo, serializeEvent, serializeInboundHead } from '../resources/events/serialize-events.ts';
import { attachmentLinks } from '../resources/inbound-attachments.ts';
import { EMPTY, type FoundMail, postedFields, postedMail } from './posted-mail.ts';
import { postmarkInbound } from './postmark-inbound.ts';
import { sendgridInbound } from './sendgrid-inbound.ts';

/**
 * Posts with a received mail, in the format of a webhook. Contents come from the vault when the post is made: once they were
 * removed, or if the webhook may not see them, all fields of the mail are empty, and `contents` says why.
 */

interface InboundPosts {
  readonly store: EventStore;
  readonly contents: Pick<Contents, 'get'>;
  readonly secrets: Secrets;
  readonly system: Pick<System, 'now'>;
  readonly mailParser: Pick<MailParser, 'parseLeniently'>;
  /** Base URL of this service. */
  readonly publicUrl: () => string;
}

const shownOf = (body: InboundBody | null, hasContents: boolean): FoundMail['shown'] => {
  if (!hasContents) return 'hidden';
  return body === null ? 'removed' : 'included';
};

/** The event as the feed has it, with the mail. */
const ownPost = (event: CustomerEvent, { body, shown }: FoundMail, linkTo: LinkTo): object => {
  const serialized = serializeEvent(event, new Map());
  const fields = postedFields(body ?? EMPTY);
  return {
    ...serialized,
    data: { ...serialized.data, ...serializeInboundHead(body, linkTo), ...fields, contents: shown },
  };
};

/** @returns what makes the body of a post about received mail. */
export const createInboundPosts = (deps: InboundPosts) => {
  const find = async ({ subjectId }: CustomerEvent, hasContents: boolean): Promise<FoundMail> => {
    const { state } = await load(deps.store, inbound, inboundStream(subjectId));
    if (state.status === 'absent') throw new Error(`the inbound message ${subjectId} is not in the log`);
    const { contentId } = state;
    const found = hasContents ? (await deps.contents.get([contentId])).get(contentId) : undefined;
    const body = found?.kind === 'inbound' ? found : null;
    return { state, body, shown: shownOf(body, hasContents) };
  };

  return async (
    event: CustomerEvent,
    { hasContents, format }: { readonly hasContents: boolean; readonly format: WebhookFormat | undefined },
  ): Promise<{ readonly content: string | Uint8Array; readonly contentType?: string }> => {
    const found = await find(event, hasContents);
    if (format === 'sendgrid_inbound') return sendgridInbound(await postedMail(deps, found));
    if (format === 'postmark_inbound')
      return { content: JSON.stringify(postmarkInbound(await postedMail(deps, found))) };
    const links = await attachmentLinks({ ...deps, publicUrl: deps.publicUrl() }, found.state);
    return { content: JSON.stringify(ownPost(event, found, links)) };
  };
};
