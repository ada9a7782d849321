import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSystem } from '../../../../src/adapters/system.ts';
import { internalOrigin, readWholeStream } from '../../../../src/commands/execute.ts';
import { createSignInLink, inviteMember } from '../../../../src/commands/member.ts';
import { LOG_START } from '../../../../src/domain/kernel/event-store.ts';
import { membersStream } from '../../../../src/domain/kernel/streams.ts';
import { createAuthenticator } from '../../support/authenticator.ts';
import { codeOf, openPeople, type People } from '../../support/passkey-people.ts';
import { type Service, startService } from '../../support/service.ts';
import { cookieOf, SAME_ORIGIN, signInWith } from '../../support/sign-in.ts';

const MINUTE_MS = 60_000;
const REFUSED = [403, 'presence_required'];

let service: Service;
let people: People;
let organizationId: string;
let shiftMs = 0;
const real = createSystem();

beforeAll(async () => {
  service = await startService({
    publicUrl: 'http://127.0.0.1:3000',
    context: { system: { ...real, now: () => new Date(real.now().getTime() + shiftMs) } },
  });
  people = await openPeople(service);
  organizationId = (await service.request({ url: '/v1/organization', key: people.key })).json().id;
});
afterAll(() => service.close());

type Actor = 'operator' | 'service';
const originOf = (actor: Actor) => internalOrigin({ actor, organizationId, causeId: real.uuid() });

let invited = 0;

/**
 * A member who has signed in with a link printed by the first start (`service`) or by the command line (`operator`).
 */
const enter = async (actor: Actor, email: string | null = null) => {
  invited += 1;
  const name = `Owner ${invited}`;
  const { member, link } = await inviteMember(service.deps.context, originOf(actor), { name, email, role: 'owner' });
  const answer = await signInWith(service, `http://localhost/#${link.token}`);
  expect(answer.statusCode, answer.body).toBe(200);
  const { memberId } = member;
  return { memberId, cookie: cookieOf(answer), authenticator: createAuthenticator(memberId), session: answer.json() };
};

const mailsTo = async (email: string): Promise<readonly (string | undefined)[]> => {
  const { store, contents } = service.deps.context;
  const { events } = await store.readAll({ from: LOG_START, filter: {}, limit: 10_000 });
  const ids = events.flatMap((event) => (event.type === 'MessageAccepted' ? [event.data.contentId] : []));
  return [...(await contents.get(ids)).values()].flatMap((body) =>
    body.kind === 'message' && body.recipients[0]?.address === email ? [body.subject] : [],
  );
};

const added = async (memberId: string) =>
  (await readWholeStream(service.deps.context.store, membersStream(organizationId))).flatMap((event) =>
    event.type === 'PasskeyAdded' && event.data.memberId === memberId ? [event] : [],
  );

describe('the first passkey of a member', () => {
  test.each(['service', 'operator'] as const)(
    'is added within an hour of signing in by a link of %s, on record',
    async (actor) => {
      const person = await enter(actor);
      const hour = Date.parse(person.session.first_passkey_until) - real.now().getTime() - shiftMs;
      expect([hour > 59 * MINUTE_MS, hour <= 60 * MINUTE_MS]).toEqual([true, true]);
      shiftMs += 59 * MINUTE_MS;
      expect((await people.add(person)).statusCode).toBe(201);
      const [event, ...more] = await added(person.memberId);
      expect([event?.data.withoutPresence, event?.metadata.session, more]).toEqual([true, person.session.id, []]);
      expect(codeOf(await people.add({ ...person, authenticator: createAuthenticator(person.memberId) }))).toEqual(
        REFUSED,
      );
      expect(await mailsTo('')).toEqual([]);
    },
  );

  test('is mailed to the member if they have an address', async () => {
    const person = await enter('operator', 'first@example.net');
    shiftMs += 30 * MINUTE_MS;
    expect((await people.add(person)).statusCode).toBe(201);
    expect(await mailsTo('first@example.net')).toEqual(['A passkey was added to your account at Test']);
  });

  test('is added like any other after an hour', async () => {
    const person = await enter('operator');
    shiftMs += 60 * MINUTE_MS;
    expect(codeOf(await people.add(person))).toEqual(REFUSED);
  });

  test('is added like any other after signing in by a link of an owner or the API', async () => {
    const person = await people.join();
    expect((await people.add(person)).statusCode).toBe(201); // their presence is proved
    const other = await people.join();
    shiftMs += 10 * MINUTE_MS;
    expect(codeOf(await people.add(other))).toEqual(REFUSED);
    const session = await service.request({ url: '/v1/session', headers: { cookie: other.cookie } });
    expect(session.json().first_passkey_until).toBe(null);
  });

  test('is only one of two that are added concurrently', async () => {
    const person = await enter('operator');
    shiftMs += 20 * MINUTE_MS;
    const second = { ...person, authenticator: createAuthenticator(person.memberId) };
    const answers = await Promise.all([people.add(person), people.add(second)]);
    expect(answers.map(({ statusCode }) => statusCode).toSorted()).toEqual([201, 403]);
    expect(await added(person.memberId)).toHaveLength(1);
  });

  test('is all that is allowed: everything else requires presence', async () => {
    const { cookie, memberId } = await enter('operator');
    shiftMs += 10 * MINUTE_MS;
    for (const [method, url] of [
      ['POST', `/v1/members/${memberId}/links`],
      ['DELETE', `/v1/members/${memberId}`],
      ['DELETE', '/v1/passkeys/psk_aaaaaaaaaaaaaaaaaaaaaaaaaa'],
    ] as const) {
      const answer = await service.request({ method, url, headers: { cookie, ...SAME_ORIGIN } });
      expect(codeOf(answer)).toEqual(REFUSED);
    }
  });

  test('is not the only way: a link of the operator for the member proves that they are present', async () => {
    const { cookie, memberId } = await enter('operator');
    shiftMs += 70 * MINUTE_MS;
    const { token } = await createSignInLink(service.deps.context, originOf('operator'), { memberId });
    const answer = await service.request({
      method: 'POST',
      url: '/v1/session/presence',
      headers: { cookie, ...SAME_ORIGIN },
      payload: { token },
    });
    expect([answer.statusCode, answer.json().member?.id]).toEqual([200, memberId]);
  });
});
