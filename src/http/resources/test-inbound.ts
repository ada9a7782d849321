import { z } from 'zod';
import { load } from '../../commands/execute.ts';
import { HOPS_MAX, loadInbound, type ReceiveOutcome, receiveMail } from '../../commands/inbound/receive-mail.ts';
import type { Caller } from '../../domain/api-key/caller.ts';
import { localPartOf, routeFor, takingRoute } from '../../domain/inbound/route.ts';
import { DomainError } from '../../domain/kernel/errors.ts';
import { sendingDomainStream } from '../../domain/kernel/streams.ts';
import type { ReceivedRecipient } from '../../domain/ports/inbound.ts';
import { sendingDomain } from '../../domain/sending-domain/sending-domain.ts';
import { domainOf, parseMailbox } from '../../lib/mime/mime.ts';
import { visibleDomainId } from '../auth/permissions.ts';
import type { HttpDependencies } from '../dependencies.ts';
import { endpoint, type RouteContext } from '../endpoint.ts';
import { readYourWrites } from '../reading.ts';
import { address, inboundSchema, serializeInbound } from './inbound.ts';
import { requireKind } from './inbound-attachments.ts';
import { INBOUND_ROUTES_MAX } from './inbound-routes.ts';
import { SEND_REST_BYTES_MAX } from './messages/send-message.ts';

/** Receives a mail from a request, to try what happens to mail by SMTP. */

/** A few routes over the limit can exist: they were created at the same moment. */
const ROUTES_READ_MAX = 2 * INBOUND_ROUTES_MAX;
/** Reading waits up to 30 s for its turn, and the DNS up to 20 s. */
const DEADLINE_MS = 60_000;
/** The raw mail is one string, which is parsed at once. Larger mail must come by SMTP. */
const BOUNDS = { bytesMax: SEND_REST_BYTES_MAX, restBytesMax: SEND_REST_BYTES_MAX, valuesMax: 10 };

const body = z.strictObject({
  raw: z
    .string()
    .min(1)
    .describe('The message with its header (RFC 5322), as UTF-8. It is stored as it is: separate lines by CRLF.'),
  to: address().describe('Recipient, at a domain of your organization. It need not be in the header.'),
  from: address().optional().describe('Return path (`MAIL FROM`). Default: an empty one, as bounces have.'),
});

const refused = (field: 'raw' | 'to', problem: string): DomainError =>
  new DomainError('invalid_request', problem, { details: { [field]: [problem] } });

const REFUSALS: Readonly<Record<Exclude<ReceiveOutcome, 'received' | 'repeated'>, string>> = {
  loop: `raw has passed more than ${HOPS_MAX} servers: remove some of its Received fields`,
  dmarc_failed:
    'raw fails DMARC, and your organization refuses such mail: use a From domain without the policy reject, or set inbound_dmarc to mark',
};

/** The address without a name. */
const addressIn = (text: string): string => {
  const mailbox = parseMailbox(text);
  return typeof mailbox === 'string' ? text : mailbox.address;
};

/** The domain may have been added just now. */
const findDomain = async ({ auth: { keyCache } }: RouteContext, { organizationId }: Caller, name: string) => {
  const known = keyCache.domainNamed(organizationId, name);
  if (known !== undefined) return known;
  await keyCache.catchUp();
  return keyCache.domainNamed(organizationId, name);
};

const receivesMail = async ({ context }: HttpDependencies, domainId: string): Promise<boolean> => {
  const { state } = await load(context.store, sendingDomain, sendingDomainStream(domainId));
  return state.status === 'registered' && state.inbound.mx;
};

/** @throws {DomainError} `invalid_request` if the caller cannot receive mail there. */
const requireDomain = async (route: RouteContext, caller: Caller, to: string): Promise<string> => {
  const name = domainOf(to);
  const domain = await findDomain(route, caller, name);
  const own = visibleDomainId(caller);
  if (domain === undefined) throw refused('to', 'to must be an address at a domain of your organization');
  if (own !== null && domain.id !== own)
    throw refused('to', `to must be an address at ${caller.domain.name}, the domain of the key, which lacks 'manage'`);
  if (domain.id === caller.domain.id || (await receivesMail(route.deps, domain.id))) return domain.id;
  const remedy = `PATCH /v1/domains/${domain.id} with {"inbound": {"mx": true}}`;
  throw refused('to', `to must be an address that receives mail, and ${name} receives none: ${remedy}`);
};

/** @throws {DomainError} `invalid_request` if a route refuses the recipient; `unavailable` if the routes are not known. */
const requireRecipient = async (route: RouteContext, caller: Caller, to: string): Promise<ReceivedRecipient> => {
  const { deps } = route;
  const domainId = await requireDomain(route, caller, to);
  await readYourWrites(deps, ['inbound-routes']);
  const by = { organizationId: caller.organizationId, domainId, limit: ROUTES_READ_MAX, after: null };
  const { items } = await deps.readModels.inboundRoutes.list(by);
  const found = routeFor(items, localPartOf(to));
  const taking = takingRoute(found);
  if (taking !== 'refused') return { domainId, address: to, route: taking };
  throw refused(
    'to',
    `to is refused by the inbound route ${found?.routeId}: change its action, or use another address`,
  );
};

export const testInboundRoute = endpoint(
  'POST /v1/inbound/test',
  {
    summary: 'Receive a test message',
    description: `Receives a message as if it had come by SMTP: it is read, checked and routed in the same way, is listed in \`GET /v1/inbound\`, and creates the event \`inbound.received\` in the environment of the key. There is no client, so SPF is not checked.

The domain of \`to\` must belong to your organization. It needs \`inbound.mx\`, unless it is the domain of the key; its MX record is not needed. Keys without \`manage\` can use only their own domain.

The same \`raw\`, \`to\` and \`from\` again return the same message with the same id and create no event. The request can have ${SEND_REST_BYTES_MAX / 1_000_000} MB; larger mail must come by SMTP.`,
    body,
    examples: {
      'A question': {
        raw: 'From: Ann <ann@example.net>\r\nTo: support@example.test\r\nSubject: Order 42\r\n\r\nWhere is it?\r\n',
        to: 'support@example.test',
        from: 'ann@example.net',
      },
    },
    answer: inboundSchema,
    bounds: BOUNDS,
    deadlineMs: DEADLINE_MS,
    large: true,
    etag: false,
  },
  async ({ caller, origin, body: { raw, to, from }, reply }, route) => {
    const { context, receiving } = route.deps;
    const { organizationId, environment } = caller;
    const recipient = await requireRecipient(route, caller, addressIn(to));
    const { outcome, inboundIds } = await receiveMail({ ...context, ...receiving }, origin, {
      organizationId,
      environment,
      raw: Buffer.from(raw),
      from: from === undefined ? '' : addressIn(from),
      recipients: [recipient],
      client: null,
    });
    if (outcome === 'loop' || outcome === 'dmarc_failed') throw refused('raw', REFUSALS[outcome]);
    const [id = ''] = inboundIds;
    const found = await loadInbound(context, organizationId, id);
    const stored = (await context.contents.get([found.contentId])).get(found.contentId);
    reply.header('location', `/v1/inbound/${id}`);
    return serializeInbound(route.deps, found, requireKind(stored, 'inbound'));
  },
);
