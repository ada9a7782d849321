import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  answerOf,
  begin,
  codeOf,
  cookiesOf,
  INVALID,
  type OidcService,
  openOidc,
  post,
} from '../../support/oidc-sign-in.ts';

let opened: OidcService;
beforeAll(async () => {
  opened = await openOidc();
});
afterAll(() => opened.close());

const NO_MEMBER = [403, 'oidc_no_member'];
const DAY_MS = 24 * 3_600_000;

interface Membership {
  readonly member_id: string;
  readonly status: string;
}

/** Signs in at the provider and returns to the list of memberships. */
const list = async (email: string, verified = true) => {
  opened.provider.person = { email, email_verified: verified };
  const { url, cookie } = await begin(opened.service);
  const oidc = answerOf(await opened.provider.signIn(url));
  const answer = await post(opened.service, '/v1/session/memberships', { oidc }, cookie);
  const browser = cookiesOf(answer).find((one) => one.startsWith('outbox_browser=')) ?? '';
  return { answer, browser: browser.split(';')[0] ?? '', choice: answer.json().choice as string };
};

const choose = ({ choice, browser }: { choice: string; browser: string }, memberId: string) =>
  post(opened.service, '/v1/session', { membership: { choice, member_id: memberId } }, browser);

const statusOf = async (id: string, organization = 0) => {
  const key = opened.keys[organization] ?? '';
  return (await opened.service.request({ url: `/v1/members/${id}`, key })).json().status;
};

describe('an invitation gives no power over the invited person', () => {
  test('an invitation from elsewhere does not restrict a member', async () => {
    const { email, id } = await opened.join(0);
    await opened.invite(1, email);
    const answer = await opened.enter({ email, email_verified: true });
    expect([answer.statusCode, answer.json().member.id]).toEqual([200, id]);
  });

  test('a person who is only invited is not signed in without accepting it', async () => {
    const { email, id } = await opened.invite(1);
    expect(codeOf(await opened.enter({ email, email_verified: true }))).toEqual(NO_MEMBER);
    expect(await statusOf(id, 1)).toBe('invited');
  });

  test('invited people see only their invitations, and join the one that they choose', async () => {
    const { email, id } = await opened.invite(0);
    const other = await opened.invite(1, email);
    const seen = await list(email);
    expect(seen.answer.json()).toEqual({
      object: 'sign_in_choice',
      choice: expect.any(String),
      memberships: [id, other.id].map((member_id, index) => ({
        member_id,
        organization: { id: opened.organizations[index], name: 'Test' },
        role: 'owner',
        status: 'invited',
      })),
      expires_at: expect.any(String),
    });
    expect(cookiesOf(seen.answer).join()).not.toContain('ob_session_');
    expect(seen.answer.headers['cache-control']).toBe('no-store');
    const answer = await choose(seen, other.id);
    expect([answer.statusCode, answer.json().member.id]).toEqual([200, other.id]);
    expect([await statusOf(id), await statusOf(other.id, 1)]).toEqual(['invited', 'joined']);
  });

  test('an invitation that has expired or was withdrawn cannot be chosen', async () => {
    const { email, id } = await opened.invite(0);
    const other = await opened.invite(1, email);
    const [seen, again] = [await list(email), await list(email)];
    await opened.service.request({ method: 'DELETE', url: `/v1/members/${id}`, key: opened.keys[0] ?? '' });
    await expect.poll(async () => codeOf(await choose(seen, id))).toEqual(NO_MEMBER);
    opened.shift(8 * DAY_MS);
    expect(codeOf(await choose(again, other.id))).toEqual(INVALID); // the choice has expired, too
    expect(codeOf((await list(email)).answer)).toEqual(NO_MEMBER);
  });
});

describe('a member of several organizations', () => {
  test('chooses one, with accepted memberships first', async () => {
    const invited = await opened.invite(0);
    const { email } = invited;
    const joined = await opened.join(1, email);
    const ids = (await list(email)).answer.json().memberships.map(({ member_id }: Membership) => member_id);
    expect(ids).toEqual([joined.id, invited.id]);
  });

  test('is signed in to the one that they choose, and to another the next time', async () => {
    const first = await opened.join(0);
    const second = await opened.join(1, first.email);
    expect(codeOf(await opened.enter({ email: first.email, email_verified: true }))).toEqual(NO_MEMBER);
    for (const { id } of [first, second]) {
      const answer = await choose(await list(first.email), id);
      expect([answer.statusCode, answer.json().member.id]).toEqual([200, id]);
    }
  });
});

describe('a choice', () => {
  test('works once, in the browser that received it, for ten minutes', async () => {
    const { email, id } = await opened.join(0);
    const [seen, other, late] = [await list(email), await list(email), await list(email)];
    expect(codeOf(await choose({ ...seen, browser: '' }, id))).toEqual(INVALID);
    expect(codeOf(await choose({ ...seen, browser: other.browser }, id))).toEqual(INVALID);
    const both = await Promise.all([choose(seen, id), choose(seen, id)]);
    expect(both.map(({ statusCode }) => statusCode).toSorted()).toEqual([200, 401]);
    expect(codeOf(await choose(seen, id))).toEqual(INVALID);
    opened.shift(600_000);
    expect(codeOf(await choose(late, id))).toEqual(INVALID);
  });

  test('ends after ten minutes, and not a millisecond sooner', async () => {
    const { email, id } = await opened.join(0);
    await opened.withStoppedClock(async () => {
      const [timely, late] = [await list(email), await list(email)];
      opened.shift(599_999);
      expect((await choose(timely, id)).statusCode).toBe(200);
      opened.shift(1);
      expect(codeOf(await choose(late, id))).toEqual(INVALID);
    });
  });

  test('is only for memberships of the verified address', async () => {
    const [own, stranger] = [await opened.join(0), await opened.join(0)];
    const seen = await list(own.email);
    for (const memberId of [stranger.id, 'mbr_aaaaaaaaaaaaaaaaaaaaaaaaaa', '', '__proto__'])
      expect(codeOf(await choose(seen, memberId))).toEqual(INVALID);
    expect(codeOf((await list(own.email, false)).answer)).toEqual([403, 'oidc_address_unverified']);
  });

  test.each([[''], ['.'], ['a.b'], ['\u0000'], ['a\r\nb'], ['x'.repeat(8_000)]])(
    'cannot be forged as %j',
    async (made) => {
      const { email, id } = await opened.join(0);
      const { browser } = await list(email);
      expect([400, 401]).toContain((await choose({ choice: made, browser }, id)).statusCode);
    },
  );

  test('cannot be changed', async () => {
    const { email, id } = await opened.join(0);
    const { browser, choice } = await list(email);
    const [payload = '', mac = ''] = choice.split('.');
    const read = JSON.parse(Buffer.from(payload, 'base64url').toString());
    const wider = Buffer.from(JSON.stringify({ ...read, memberIds: [...read.memberIds, 'mbr_other'] })).toString(
      'base64url',
    );
    for (const changed of [`${wider}.${mac}`, `${payload}.`, `${payload}.${mac}.${mac}`, payload])
      expect(codeOf(await choose({ choice: changed, browser }, id))).toEqual(INVALID);
  });
});
