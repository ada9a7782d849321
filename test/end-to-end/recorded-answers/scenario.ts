import { createAuthenticator } from '../../http/support/authenticator.ts';
import type { ReceivedMail } from '../../http/support/received-mail.ts';
import { type AnyBody, eventually } from '../../support/api-client.ts';
import type { OpenIdProvider } from '../../support/openid-provider.ts';
import type { Recorder } from './record.ts';

/** A shop uses the service so that every operation succeeds once and its answer has content. */

export interface Stage {
  readonly recorder: Recorder;
  /** Key of the test environment: the sandbox addresses simulate outcomes. */
  readonly testKey: string;
  /** URL to which webhooks post. */
  readonly listener: string;
  readonly origin: string;
  readonly provider: OpenIdProvider;
  grantOperator(memberId: string): Promise<unknown>;
  suspend(destination: string): Promise<unknown>;
  /** Receives a mail. @returns its id. */
  receive(mail: Omit<ReceivedMail, 'environment'>): Promise<string>;
}

const PAGE = { limit: '2' };
const SHOP = { from: 'Shop <hello@example.test>', subject: 'Your order', text: 'Thank you.' };
const TRACKED = {
  from: 'Shop <hello@example.test>',
  to: 'ann@example.net',
  subject: 'New this week',
  html: '<p><a href="{{ view_url }}">View in browser</a></p><p>New: <a href="https://example.com/shop">the shop</a></p>',
  attachments: [{ filename: 'list.txt', content: 'T25lIHRlYXBvdAo=', content_type: 'text/plain' }],
};

const tokenOf = (link: { readonly url: string }): string => new URL(link.url).hash.slice(1);

/** Waits for an answer that is not recorded yet. */
const until = (ask: () => Promise<AnyBody>, wanted: (body: AnyBody) => boolean) => eventually(ask, wanted, 30_000);

/** @returns id of the delivered message. */
const messages = async ({ recorder: { ask, bind }, testKey }: Stage): Promise<string> => {
  const { id } = await ask('sendMessage');
  bind(id);
  await ask('analyzeMessage');
  await ask('sendBatch');
  await until(
    () => ask('getMessage!', { parameters: { id } }),
    ({ status }) => status === 'delivered',
  );
  for (const name of ['getMessage', 'getMessageContent', 'previewMessage', 'getRawMessage'])
    await ask(name, { parameters: { id } });
  await ask('listMessageEvents', { parameters: { id, ...PAGE } });
  await ask('listMessages', { parameters: { status: 'delivered', limit: '1' } });
  const bounced = await ask('sendMessage!', { body: { ...SHOP, to: 'bounced@sandbox.outbox.test' }, as: testKey });
  await until(
    () => ask('getMessage!', { parameters: { id: bounced.id }, as: testKey }),
    ({ status }) => status === 'bounced',
  );
  await ask('explainMessage', { parameters: { id: bounced.id }, as: testKey });
  await ask('resendMessage', { parameters: { id: bounced.id }, as: testKey });
  await ask('resendMessages', { body: { ids: [bounced.id] }, as: testKey });
  const scheduled = { ...SHOP, to: 'you@example.net', scheduled_at: '2026-02-02T09:00:00Z' };
  const [later, other] = [
    await ask('sendMessage!', { body: scheduled }),
    await ask('sendMessage!', { body: scheduled }),
  ];
  const another = { scheduled_at: '2026-02-03T09:00:00Z' };
  await ask('rescheduleMessage', { parameters: { id: later.id }, body: another });
  await ask('cancelMessage', { parameters: { id: later.id } });
  await ask('cancelMessages');
  await ask('cancelMessage!', { parameters: { id: other.id } });
  return id;
};

const keys = async ({ recorder: { ask, bind } }: Stage): Promise<string> => {
  const { id } = await ask('createKey');
  bind(id);
  for (const name of ['updateKey', 'rotateKey', 'getKey']) await ask(name, { parameters: { id } });
  await ask('listKeys', { parameters: { limit: '1' } });
  await ask('listKeySecrets', { parameters: { id, ...PAGE } });
  await ask('revokeKey', { parameters: { id } });
  await ask('listKeyHistory', { parameters: { id, ...PAGE } });
  await ask('deleteKey', { parameters: { id: (await ask('createKey!')).id } });
  return id;
};

const domains = async ({ recorder: { ask } }: Stage, id: string): Promise<void> => {
  const made = await ask('registerDomain');
  await ask('verifyDomain', { parameters: { id: made.id } });
  await ask('listDomains', { parameters: { limit: '1' } });
  await ask('deleteDomain', { parameters: { id: made.id } });
  for (const name of ['updateDomain', 'rotateDkim', 'getDomain', 'getDomainReputation', 'releaseSending'])
    await ask(name, { parameters: { id } });
  for (const name of ['startWarmUp', 'getWarmUp', 'endWarmUp']) await ask(name, { parameters: { id } });
  await ask('updateDomain!', { parameters: { id }, body: { tracking: { clicks: true, opens: true } } });
};

const templates = async ({ recorder: { ask, bind } }: Stage): Promise<void> => {
  const { id } = await ask('createTemplate');
  bind(id);
  await ask('publishTemplate', { parameters: { id } });
  await ask('changeTemplate', { parameters: { id } });
  await ask('getTemplate', { parameters: { id } });
  await ask('publishTemplate!', { parameters: { id } });
  await ask('rollBackTemplate', { parameters: { id } });
  await ask('listTemplates', { parameters: { limit: '1' } });
  await ask('listTemplateVersions', { parameters: { id, ...PAGE } });
  await ask('getTemplateVersion', { parameters: { id, version: '1' } });
  await ask('compareTemplateVersions', { parameters: { id, version: '2', with: '1' } });
  for (const name of ['renderTemplate', 'previewTemplate', 'testSendTemplate']) await ask(name, { parameters: { id } });
  const other = await ask('createTemplate!', {
    body: { alias: 'old', name: 'Old', from: SHOP.from, subject: 'Old', html: '<p>Old</p>' },
  });
  await ask('publishTemplate!', { parameters: { id: other.id } });
  const message = { to: 'you@example.net', template: { id: 'old' } };
  for (const name of ['sendMessage!', 'analyzeMessage!']) await ask(name, { body: message });
  await ask('sendBatch!', { body: { messages: [message] } });
  await ask('deleteTemplate', { parameters: { id: other.id } });
};

const webhooks = async ({ recorder: { ask, bind }, listener }: Stage): Promise<void> => {
  const events = ['message.delivered', 'message.bounced', 'message.complained'];
  const { id } = await ask('registerWebhook', { body: { url: listener, events, description: 'Order mail' } });
  bind(id);
  await ask('pingWebhook', { parameters: { id } });
  const { data } = await until(
    () => ask('listWebhookDeliveries!', { parameters: { id } }),
    (list) => list.data[0]?.status === 'delivered',
  );
  const delivery = data[0].id;
  await ask('listWebhookDeliveries', { parameters: { id, ...PAGE } });
  await ask('getWebhookDelivery', { parameters: { id, delivery } });
  await ask('resendWebhookDelivery', { parameters: { id, delivery } });
  const replayed = { since: '2026-01-30T22:00:00Z', until: '2026-01-31T06:00:00Z' };
  const replay = await ask('replayWebhook', { parameters: { id }, body: replayed });
  await ask('listWebhookReplays', { parameters: { id, ...PAGE } });
  await ask('getWebhookReplay', { parameters: { id, replay: replay.id } });
  await ask('cancelWebhookReplay', { parameters: { id, replay: replay.id } });
  await ask('updateWebhook', { parameters: { id }, body: { url: `${listener}/v2` } });
  for (const name of ['rotateWebhookSecret', 'adoptWebhook', 'getWebhook', 'listWebhooks', 'deleteWebhook'])
    await ask(name, name === 'listWebhooks' ? {} : { parameters: { id } });
};

const inbound = async ({ recorder: { ask }, receive, listener }: Stage, domainId: string): Promise<void> => {
  const { id: organizationId } = await ask('getOrganization!');
  const webhook = await ask('registerWebhook!', { body: { url: listener, events: ['inbound.received'] } });
  const received = await receive({ organizationId, domainId, to: 'support@example.test' });
  await until(
    () => ask('listInboundDeliveries!', { parameters: { id: received } }),
    ({ data }) => data[0]?.status === 'delivered',
  );
  for (const name of ['getInbound', 'previewInbound', 'getRawInbound', 'listInboundDeliveries'])
    await ask(name, { parameters: { id: received } });
  await ask('resendInbound', { parameters: { id: received } });
  await ask('deleteWebhook!', { parameters: { id: webhook.id } });
  await ask('testInbound');
  await ask('listInbound');
  await ask('getInboundAttachment', { parameters: { id: received, place: '0' } });
  const { attachments } = await ask('getInbound!', { parameters: { id: received } });
  const token = attachments[0].url.split('/').at(-1);
  await ask('downloadInboundAttachment', { parameters: { token }, as: null });
  const { id } = await ask('createInboundRoute');
  for (const name of ['updateInboundRoute', 'getInboundRoute']) await ask(name, { parameters: { id } });
  await ask('listInboundRoutes');
  await ask('deleteInboundRoute', { parameters: { id } });
};

const forwarding = async ({ recorder: { ask } }: Stage, domainId: string): Promise<void> => {
  const to = 'ann@home.example';
  const route = { domain_id: domainId, match: 'ann', action: 'forward', forward_to: to };
  const { id } = await ask('createInboundRoute!', { body: route });
  await ask('confirmInboundRoute', { parameters: { id } });
  const { data } = await until(
    () => ask('listInbox!', { parameters: { to, limit: '1' } }),
    ({ data: mails }) => mails.length > 0,
  );
  const { text } = await ask('getCapturedMail!', { parameters: { id: data[0].id } });
  const token = /\/forward\/([\w-]{68})/.exec(text)?.[1] ?? '';
  for (const name of ['showForwardPage', 'confirmForward']) await ask(name, { parameters: { token }, as: null });
};

const recipients = async ({ recorder: { ask, bind } }: Stage): Promise<void> => {
  const topic = await ask('createTopic');
  bind(topic.id);
  const parameters = { id: topic.id };
  for (const name of ['updateTopic', 'getTopic', 'optIn']) await ask(name, { parameters });
  await ask('listOptIns', { parameters: { ...parameters, address: 'ann@example.net' } });
  await ask('listTopics');
  const { id } = await ask('sendMessage!', { body: { ...TRACKED, topic: topic.id } });
  await until(
    () => ask('getMessage!', { parameters: { id } }),
    ({ status }) => status === 'delivered',
  );
  const { data } = await ask('listInbox', { parameters: { to: 'ann@example.net', limit: '1' } });
  const mail = { id: data[0].id };
  for (const name of ['getCapturedMail', 'getRawCapturedMail']) await ask(name, { parameters: mail });
  await ask('getCapturedAttachment', { parameters: { ...mail, place: '0' } });
  const { html } = await ask('getCapturedMail!', { parameters: mail });
  const raw: string = await ask('getRawCapturedMail!', { parameters: mail });
  const tokenIn = (text: string, path: string) => new RegExp(`/${path}/([\\w-]{20,})`).exec(text)?.[1] ?? '';
  await ask('viewMail', { parameters: { token: tokenIn(html, 'view') }, as: null });
  await ask('loadPixel', { parameters: { token: tokenIn(html, 'o') }, as: null });
  const token = tokenIn(raw.replaceAll(/=?\r\n\s*/g, ''), 'unsubscribe');
  for (const name of ['showUnsubscribePage', 'showPreferencesPage', 'unsubscribeRecipient', 'savePreferences'])
    await ask(name, { parameters: { token }, as: null });
  await ask('deleteCapturedMail', { parameters: mail });
  await ask('deleteInbox');
  await ask('deleteTopic', { parameters });
};

const suppressions = async ({ recorder: { ask, bind } }: Stage): Promise<void> => {
  const { id } = await ask('addSuppressions');
  bind(id);
  await ask('addSuppressions!', { body: { addresses: ['dave@example.net'] } });
  await ask('exportSuppressions');
  await ask('importSuppressions', { body: { csv: 'address\nbob@example.org\ncarol@example.net\n' } });
  await ask('checkSuppression', { parameters: { address: 'ann@example.net' } });
  await ask('getSuppression', { parameters: { id } });
  await ask('listSuppressions', { parameters: PAGE });
  await ask('deleteSuppression', { parameters: { id } });
};

const readings = async ({ recorder: { ask } }: Stage): Promise<void> => {
  await ask('readEvents', { parameters: { types: 'message.delivered', limit: '1' } });
  await ask('getStats', { parameters: { from: '2026-01-31', to: '2026-02-01' } });
  await ask('search', { parameters: { q: 'you@example.net' } });
  await ask('getSubmission');
  for (const name of ['getBilling', 'listPlans', 'choosePlan']) await ask(name);
  await ask('getUsage', { parameters: { period: '2026-01' } });
};

/** @param keyId of a key with a history. @param messageId of a delivered message. */
const audit = async ({ recorder: { ask, bind } }: Stage, keyId: string, messageId: string): Promise<void> => {
  await ask('createCheckpoint');
  await ask('listCheckpoints', { parameters: { limit: '1' } });
  await ask('listAuditLog', { parameters: { message_id: messageId, limit: '1', order: 'asc' } });
  const { data } = await ask('listAuditLog!', { parameters: { message_id: messageId, limit: '1', order: 'asc' } });
  const id = data[0].event_id;
  await ask('getAuditProof', { parameters: { id } });
  await ask('getDisclosure', { parameters: { id } });
  await ask('getConsistencyProof', { parameters: { from: '1' } });
  await ask('exportAuditLog');
  const { id: organization } = await ask('getOrganization!');
  await ask('getTlogCheckpoint', { parameters: { organization } });
  await ask('getTlogTile', { parameters: { organization, tile: '0/000.p/1' } });
  await ask('getTlogPolicy', { parameters: { organization }, as: null });
  await ask('getAccessReview', {});
  await ask('getKeyReport', { parameters: { id: keyId } });
  await ask('getMessageReport', { parameters: { id: messageId } });
  const auditor = await ask('addAuditor');
  bind(auditor.id);
  await ask('listAuditors');
  for (const name of ['getAuditor', 'removeAuditor']) await ask(name, { parameters: { id: auditor.id } });
};

const organization = async ({ recorder: { ask }, suspend }: Stage): Promise<void> => {
  for (const name of ['updateOrganization', 'getOrganization', 'getOrganizationReputation']) await ask(name);
  for (const name of ['releaseOrganizationSending', 'pauseBulkMail', 'setLegalHold']) await ask(name);
  await ask('pauseBulkMail!', { body: { paused: false } });
  await ask('setLegalHold!', { body: { active: false } });
  await suspend('example.net');
  await until(
    () => ask('listDestinations!'),
    ({ data }) => data.length > 0,
  );
  for (const name of ['listDestinations', 'releaseDestination', 'getBacklog']) await ask(name);
  await ask('previewErasure');
  await ask('requestErasure');
};

const members = async (stage: Stage): Promise<void> => {
  const { ask, bind } = stage.recorder;
  const ann = await ask('inviteMember');
  bind(ann.id);
  await ask('createMemberLink', { parameters: { id: ann.id } });
  await ask('changeMember', { parameters: { id: ann.id } });
  for (const name of ['createChallenge', 'getSignInMethods']) await ask(name, { as: null });
  await stage.grantOperator(ann.id);
  const { cookie } = await ask('signIn', { body: { token: tokenOf(ann.link) }, as: null });
  await ask('getSession', { as: cookie });
  await ask('listOperations', { as: cookie });
  for (const name of ['replaceViews', 'listViews']) await ask(name, { as: cookie });
  await ask('getService', { as: cookie });
  await ask('setContentsRoles', { as: cookie });
  const authenticator = createAuthenticator(ann.id);
  const addPasskey = async (name: string): Promise<AnyBody> => {
    const { challenge, cookie: browser } = await ask('createChallenge!', { as: null });
    const body = authenticator.register({ challenge, origin: stage.origin });
    return ask(name, { body, as: `${cookie}; ${browser}` });
  };
  const passkey = (await addPasskey('addPasskey')).id;
  await ask('listPasskeys', { as: cookie });
  await ask('listMemberPasskeys', { parameters: { id: ann.id } });
  const { challenge, cookie: browser } = await ask('createChallenge!', { as: null });
  const proof = { passkey: authenticator.answer({ challenge, origin: stage.origin }) };
  await ask('provePresence', { body: proof, as: `${cookie}; ${browser}` });
  await ask('removePasskey', { parameters: { passkey }, as: cookie });
  const second = (await addPasskey('addPasskey!')).id;
  await ask('removeMemberPasskey', { parameters: { id: ann.id, passkey: second } });
  await ask('mailSignInLink', { as: null });
  await atProvider(stage);
  for (const name of ['listMembers', 'listMemberSessions']) await ask(name);
  await ask('getMember', { parameters: { id: ann.id } });
  const session = (await ask('listMemberSessions!')).data[0].id;
  await ask('getMemberSession', { parameters: { id: session } });
  await ask('signOut', { as: cookie });
  const other = await ask('inviteMember!', { body: { email: 'bob@example.org', role: 'analyst' } });
  const signedIn = await ask('signIn!', { body: { token: tokenOf(other.link) }, as: null });
  await ask('endMemberSession', { parameters: { id: signedIn.id } });
  await ask('removeMember', { parameters: { id: other.id } });
};

const atProvider = async ({ recorder: { ask }, provider }: Stage): Promise<void> => {
  const { url, cookie } = await ask('startOidc', { as: null });
  const back = await provider.signIn(url);
  const oidc = { code: back.get('code'), state: back.get('state'), issuer: back.get('iss') };
  await ask('listMemberships', { body: { oidc }, as: cookie });
};

const refusals = async ({ recorder: { ask }, origin, testKey }: Stage): Promise<void> => {
  const refused = await fetch(`${origin}/v1/messages/send`, {
    method: 'POST',
    headers: { authorization: `Bearer ${testKey}`, 'content-type': 'application/json', 'user-agent': 'shop/1.4' },
    body: JSON.stringify({ from: 'Shop <hello@example.test>', to: 'you@example', subjct: 'Your order' }),
  });
  const id = refused.headers.get('x-request-id') ?? '';
  const as = testKey;
  await until(
    () => ask('listRefusedRequests!', { as }),
    ({ data }) => data.length > 0,
  );
  await ask('listRefusedRequests', { as });
  await ask('countRefusedRequests', { as });
  await ask('getRefusedRequest', { parameters: { id }, as });
};

/** Everything but what takes longer than a day. */
export const recordMost = async (stage: Stage): Promise<void> => {
  const { ask, bind } = stage.recorder;
  const { data } = await ask('listDomains!');
  bind(data[0].id);
  // First, because each field that is left out of a request later is a refused request too.
  await refusals(stage);
  const messageId = await messages(stage);
  const keyId = await keys(stage);
  await domains(stage, data[0].id);
  await templates(stage);
  await webhooks(stage);
  await suppressions(stage);
  await inbound(stage, data[0].id);
  await forwarding(stage, data[0].id);
  await recipients(stage);
  await readings(stage);
  await audit(stage, keyId, messageId);
  await members(stage);
  await organization(stage);
  for (const name of ['livez', 'readyz']) await ask(name, { as: null });
};

/** Invoices once their month is over, and an erasure that is complete. */
export const recordLater = async ({ ask }: Recorder): Promise<void> => {
  const erasures = await until(
    () => ask('listErasures!'),
    ({ data }) => data[0].certificate !== null,
  );
  await ask('getErasure', { parameters: { id: erasures.data[0].id } });
  await ask('listErasures');
  const invoices = await until(
    () => ask('listInvoices!'),
    ({ data }) => data.length > 0,
  );
  await ask('listInvoices', { parameters: { limit: '1' } });
  await ask('getInvoice', { parameters: { id: invoices.data[0].id } });
};
