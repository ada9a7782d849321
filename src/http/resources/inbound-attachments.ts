import type { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { type CommandContext, internalOrigin, load } from '../../commands/execute.ts';
import { organizationSecret } from '../../commands/organization.ts';
import {
  ATTACHMENT_LINK_DAYS,
  attachmentLink,
  expiryOf,
  isAttachmentLink,
  readAttachmentLink,
} from '../../domain/inbound/attachment-link.ts';
import { type ExistingInbound, inbound } from '../../domain/inbound/inbound.ts';
import { DomainError } from '../../domain/kernel/errors.ts';
import { inboundStream } from '../../domain/kernel/streams.ts';
import { type InboundRaw, isRemoved, type StoredBody } from '../../domain/ports/contents.ts';
import { numberedParts, type ParsedPart } from '../../lib/mime/mime.ts';
import type { HttpDependencies } from '../dependencies.ts';
import { publicEndpoint, type RouteContext } from '../endpoint.ts';
import { consumePageLimit } from '../pages/page.ts';
import { recordReading } from '../readings.ts';
import { requestOrigin } from '../request-origin.ts';
import type { LinkTo } from './events/serialize-events.ts';
import { ATTACHMENT_TYPE, fileOf } from './inbox.ts';
import { linkSuspended } from './tracking.ts';

/** Attachments of inbound messages, and links to them that need no API key. */

/** @throws {DomainError} `content_gone` if it was removed; `unavailable` if it is missing without a reason. */
export const requireKind = <Kind extends 'inbound' | 'inbound_raw'>(
  found: StoredBody | undefined,
  kind: Kind,
): Extract<StoredBody, { readonly kind: Kind }> => {
  if (found?.kind === kind) return found as Extract<StoredBody, { readonly kind: Kind }>;
  if (found !== undefined && isRemoved(found))
    throw new DomainError('content_gone', `the content of the inbound message was removed at ${found.at}`);
  throw new DomainError('unavailable', 'the contents of the inbound message cannot be read at the moment: try again');
};

const missing = (): DomainError => new DomainError('not_found', 'the inbound message has no attachment at this place');

interface AttachmentFile {
  readonly organizationId: string;
  readonly raw: InboundRaw;
  /** Place among the parts of the mail; null: there can be none. */
  readonly place: number | null;
  readonly name: string;
}

/** The parts of a mail, by their places. */
export const partsOf = async (
  { mailParser }: Pick<HttpDependencies, 'mailParser'>,
  organizationId: string,
  { content }: InboundRaw,
): Promise<readonly ParsedPart[]> => {
  const parsed = await mailParser.parseLeniently([Buffer.from(content, 'base64')], organizationId);
  return parsed === null ? [] : numberedParts(parsed);
};

/** Cuts an attachment from its mail. @throws {DomainError} `not_found`. */
export const attachmentFile = async (
  deps: Pick<HttpDependencies, 'mailParser'>,
  reply: FastifyReply,
  { organizationId, raw, place, name }: AttachmentFile,
): Promise<Readable> => {
  const parts = await partsOf(deps, organizationId, raw);
  const part = place === null ? undefined : parts[place];
  if (part === undefined) throw missing();
  return fileOf(reply, { type: ATTACHMENT_TYPE, name, bytes: Buffer.from(part.content, 'base64') });
};

/** @returns what makes the links to the attachments of a message. */
export const attachmentLinks = async (
  {
    secrets,
    system,
    publicUrl,
  }: {
    readonly secrets: CommandContext['secrets'];
    readonly system: Pick<CommandContext['system'], 'now'>;
    readonly publicUrl: string;
  },
  { organizationId, inboundId }: Pick<ExistingInbound, 'organizationId' | 'inboundId'>,
): Promise<LinkTo> => {
  const secret = await organizationSecret(secrets, organizationId);
  const now = system.now();
  return (part) => attachmentLink(secret, { inboundId, part, now, publicUrl });
};

interface LinkedAttachment {
  readonly found: ExistingInbound;
  readonly part: number;
}

/** @throws {DomainError} `not_found`: the same for an unknown message and for a forgery; `content_gone`: it has expired. */
const openLink = async ({ context }: HttpDependencies, token: string): Promise<LinkedAttachment> => {
  const { store, secrets, system } = context;
  const link = readAttachmentLink(token);
  const { state } =
    link === null ? { state: inbound.initial } : await load(store, inbound, inboundStream(link.inboundId));
  if (link === null || state.status === 'absent') throw new DomainError('not_found', 'link not found');
  if (!isAttachmentLink(await organizationSecret(secrets, state.organizationId), link))
    throw new DomainError('not_found', 'link not found');
  const expiry = expiryOf(link);
  if (system.now().toISOString() < expiry) return { found: state, part: link.part };
  const remedy = `GET /v1/inbound/${state.inboundId} has a new one`;
  throw new DomainError('content_gone', `the link to this attachment expired at ${expiry}: ${remedy}`);
};

/** Reads the mail, which is put on record: the client that has the link is not known. */
const readRaw = async (
  { deps }: RouteContext,
  { inboundId, organizationId, environment, rawId }: ExistingInbound,
  request: Parameters<typeof recordReading>[1]['request'],
): Promise<InboundRaw> => {
  const raw = requireKind((await deps.context.contents.get([rawId])).get(rawId), 'inbound_raw');
  const cause = internalOrigin({ actor: 'link', organizationId, environment, causeId: inboundId });
  const origin = { ...cause, ...requestOrigin(request) };
  await recordReading(deps, { origin, request }, { what: 'inbound_content', subjectId: inboundId });
  return raw;
};

export const downloadInboundAttachmentRoute = publicEndpoint(
  'GET /inbound-attachments/:token',
  {
    summary: 'Download an attachment by its link',
    description:
      'Returns an attachment of an inbound message. The link is in `attachments` of the message and of the posts of ' +
      `\`inbound.received\`; it works for ${ATTACHMENT_LINK_DAYS} days, without an API key. Always \`application/octet-stream\`, so that no ` +
      'browser runs it. Each download is recorded in the audit log. 410: the link has expired, the content was removed, or the ' +
      'organization is suspended.',
    answer: z.string(),
    mediaType: ATTACHMENT_TYPE,
  },
  async ({ request, reply }, route) => {
    await consumePageLimit(route.auth, request);
    const { token = '' } = request.params as { readonly token?: string };
    const { found, part } = await openLink(route.deps, token);
    const { organizationId, inboundId } = found;
    if (route.auth.keyCache.isSuspended(organizationId)) throw linkSuspended();
    reply.header('referrer-policy', 'no-referrer').header('x-robots-tag', 'noindex, nofollow');
    return route.largeAnswers.make(organizationId, reply, async () => {
      const raw = await readRaw(route, found, request);
      const name = `${inboundId}-${part}`;
      return attachmentFile(route.deps, reply, { organizationId, raw, place: part, name });
    });
  },
);
