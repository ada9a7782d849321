import { z } from 'zod';
import { organizationSecret } from '../../../commands/organization/organization-secret.ts';
import { keyedDigest } from '../../../domain/digest.ts';
import { canonicalAddress, parseMailbox } from '../../../domain/email-address.ts';
import { RECIPIENT_STATUSES } from '../../../domain/message/status.ts';
import { defineEndpoint, type House } from '../../endpoint.ts';
import { readYourWrites } from '../../read-your-writes.ts';
import { listOf, listShape } from '../../shapes/list-shape.ts';
import { listedMessageShape, showListedMessage } from '../../shapes/message-shape.ts';
import { decodeCursor, encodeCursor } from '../../validation/cursor.ts';
import { pageParameters, timeParameter } from '../../validation/query.ts';
import { ownDomainOnly } from '../../visibility.ts';
import { bodyOf } from './load-message.ts';

const LIST = 'messages';
const TAG = /^([^:]{1,256}):(.{0,256})$/su;

const address = z
  .string()
  .refine((text) => typeof parseMailbox(text) !== 'string', 'is not an email address')
  .transform((text) => {
    const parsed = parseMailbox(text);
    return typeof parsed === 'string' ? '' : canonicalAddress(parsed.address);
  });

const query = z.strictObject({
  ...pageParameters,
  status: z.enum(RECIPIENT_STATUSES).optional().describe('How the message stands as a whole.'),
  to: address.optional().describe('The address of one of its recipients.'),
  from: address.optional().describe('The address it is from.'),
  tag: z
    .string()
    .refine((text) => TAG.test(text), 'must be <name>:<value>, such as order:1234')
    .optional()
    .describe('A tag by name and value, `order:1234`.'),
  domain_id: z.string().optional().describe('The domain it is from.'),
  since: timeParameter().optional().describe('Accepted then or later, in ISO 8601.'),
  until: timeParameter().optional().describe('Accepted before then, in ISO 8601.'),
});

export const listMessagesRoute = (house: House): void => {
  const { deps } = house;
  const { context, readModels } = deps;

  /** Digests are all that the log and the read models know of addresses and tags. */
  const digests = async (organizationId: string, { to, from, tag }: z.output<typeof query>) => {
    const secret = await organizationSecret(context.secrets, organizationId);
    const [, name = '', value = ''] = TAG.exec(tag ?? '') ?? [];
    return {
      toDigest: to === undefined ? null : keyedDigest(secret, 'address', to),
      fromDigest: from === undefined ? null : keyedDigest(secret, 'address', from),
      tagDigest: tag === undefined ? null : keyedDigest(secret, 'tag', `${name}\0${value}`),
    };
  };

  defineEndpoint(
    house,
    'GET /v1/messages',
    { summary: 'List messages, newest first', query, answer: listShape(listedMessageShape) },
    async ({ caller, query: asked }) => {
      const { organizationId, environment } = caller;
      const after = decodeCursor(LIST, asked.after);
      const own = ownDomainOnly(caller);
      if (own !== null && asked.domain_id !== undefined && asked.domain_id !== own) return listOf([], false, null);
      const by = await digests(organizationId, asked);
      await readYourWrites(deps, ['messages']);
      const page = await readModels.messages.list({
        ...{ organizationId, environment, ...by, after, limit: asked.limit },
        domainId: own ?? asked.domain_id ?? null,
        status: asked.status ?? null,
        since: asked.since ?? null,
        until: asked.until ?? null,
      });
      const contents = await context.contents.heads(page.items.map(({ contentId }) => contentId));
      const items = page.items.map((item) => showListedMessage(item, bodyOf(deps, contents, item.contentId)));
      return listOf(items, page.hasMore, encodeCursor(LIST, page.next));
    },
  );
};
