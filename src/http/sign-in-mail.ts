import type { FastifyRequest } from 'fastify';
import { createSemaphore } from '../async/semaphore.ts';
import { createMailedLink } from '../commands/member.ts';
import { mailNotice } from '../commands/message/mail-notice.ts';
import { sha256Hex } from '../domain/digest.ts';
import { DomainError } from '../domain/domain-error.ts';
import { escapeHtml } from '../domain/escape-html.ts';
import { LINK_MINUTES } from '../domain/member/member.ts';
import type { Notice } from '../domain/organization/notices.ts';
import { signInUrl } from '../domain/public-url.ts';
import type { KeyCache } from './auth/key-cache.ts';
import type { MemberOfOrganization } from './auth/key-cache-queries.ts';
import type { MemberAddresses } from './auth/member-addresses.ts';
import type { HttpDependencies } from './dependencies.ts';
import { fill, type Locale, localeFor } from './pages/languages.ts';
import { keepOrigin, requestOrigin } from './request-origin.ts';

/**
 * Mails links to sign in, behind the answers to their requests: whoever asks is answered the same, as fast, whether a member
 * has the address or not. A process that is killed loses what it has not mailed yet; people ask again.
 */
export interface SignInMail {
  /** @throws {DomainError} `unavailable`: too many wait. */
  ask(address: string, request: FastifyRequest): void;
  /** Waits for what was asked for. */
  close(): Promise<void>;
}

/** Each reads the vault and appends twice for a member, and does nothing for others. */
const CONCURRENCY = 2;
/** Of an address and a request each. Fewer refuse people while the log is slow. */
const WAITING_MAX = 1_000;

const PARAGRAPH = 'style="margin:0 0 16px"';
const BUTTON =
  'style="display:inline-block;padding:12px 22px;border-radius:8px;background:#1f4fba;color:#ffffff;text-decoration:none"';

/** @param url of the link. @param organization its name, which its owners choose. */
export const signInNotice = ({ tag, say }: Locale, url: string, organization: string): Notice => {
  const values = { organization, minutes: String(LINK_MINUTES) };
  const subject = fill(say.signInMailSubject, values);
  const asked = fill(say.signInMailAsked, values);
  const once = fill(say.signInMailOnce, values);
  const paragraphs = [
    escapeHtml(asked),
    `<a href="${escapeHtml(url)}" ${BUTTON}>${escapeHtml(say.signInMailButton)}</a>`,
    `${escapeHtml(say.signInMailCopy)}<br>${escapeHtml(url)}`,
    escapeHtml(once),
    escapeHtml(say.signInMailIgnore),
  ];
  return {
    subject,
    text: [asked, '', url, '', once, say.signInMailIgnore, ''].join('\n'),
    html: `<!doctype html>
<html lang="${tag}">
<head><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>${escapeHtml(subject)}</title></head>
<body style="margin:0;padding:24px;font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere">${paragraphs.map((each) => `<p ${PARAGRAPH}>${each}</p>`).join('')}</body>
</html>
`,
  };
};

export const createSignInMail = (
  deps: HttpDependencies,
  { keyCache, addresses }: { readonly keyCache: KeyCache; readonly addresses: MemberAddresses },
): SignInMail => {
  const { context, logger } = deps;
  const semaphore = createSemaphore({ capacity: CONCURRENCY });
  const pending = new Set<Promise<void>>();

  const mail = async ({ organizationId, member }: MemberOfOrganization, request: FastifyRequest): Promise<void> => {
    const { memberId, contactId } = member;
    const domain = keyCache.domainNamed(organizationId, null);
    const contact = (await context.contents.get([contactId])).get(contactId);
    if (contact?.kind !== 'contact' || contact.address === null) return;
    if (domain === undefined) {
      logger.warn({ organizationId, memberId }, 'a link to sign in is not mailed: no domain may send it');
      return;
    }
    const origin = await keepOrigin(
      deps,
      { ...requestOrigin(request), actor: 'service', organizationId, environment: null },
      request,
    );
    const { token } = await createMailedLink(context, origin, { memberId });
    await mailNotice(context, domain, {
      organizationId,
      notice: signInNotice(
        localeFor(request.headers['accept-language']),
        signInUrl(deps.publicUrl, token),
        keyCache.organizationNameOf(organizationId),
      ),
      to: contact.address,
      attachments: [],
      actor: 'service',
      causeId: request.id,
      idempotencyKey: `sign-in\n${sha256Hex(token)}`,
      ttlSeconds: LINK_MINUTES * 60,
      confidential: true,
    });
  };

  const mailAll = async (address: string, request: FastifyRequest): Promise<void> => {
    for (const found of await addresses.find(address)) {
      await mail(found, request).catch((err: unknown) => {
        if (!(err instanceof DomainError)) throw err;
        logger.warn({ err, memberId: found.member.memberId }, 'a link to sign in is not mailed: it was refused');
      });
    }
  };

  return {
    ask: (address, request) => {
      if (pending.size >= WAITING_MAX) throw new DomainError('unavailable', 'too many links are being mailed');
      const work = semaphore
        .run(() => mailAll(address, request))
        .catch((err: unknown) => logger.error({ err, requestId: request.id }, 'a link to sign in is not mailed'))
        .finally(() => pending.delete(work));
      pending.add(work);
    },
    close: async () => {
      await Promise.all(pending);
    },
  };
};
