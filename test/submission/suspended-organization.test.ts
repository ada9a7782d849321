import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { resumeOrganization, suspendOrganization } from '../../src/commands/organization.ts';
import { operator } from '../http/support/service.ts';
import { type Submitting, startSubmitting } from './support/submitting.ts';

const REASON = 'It sent mail to people who had not asked for it.';
const MAIL = 'MAIL FROM:<ann@example.test>\r\n';
const HEADER = 'From: ann@example.test\r\nTo: bob@example.org\r\nSubject: x\r\n';
const REFUSED = `550 5.7.1 the operator of this service has suspended your organization, and only they can resume it: ${REASON}`;

let submitting: Submitting;
beforeAll(async () => {
  submitting = await startSubmitting();
});
afterAll(() => submitting.close());

const change = async (command: typeof suspendOrganization | typeof resumeOrganization, reason: string) => {
  const { service, organizationId } = submitting;
  await command(service.deps.context, operator(organizationId), reason);
  await service.server.shared.auth.keyCache.catchUp();
};
const suspend = (reason = REASON) => change(suspendOrganization, reason);
const resume = () => change(resumeOrganization, 'Solved.');

describe('mail of a suspended organization by SMTP', () => {
  test('is refused permanently at MAIL, not at AUTH, and accepted again once it is resumed', async () => {
    await suspend();
    const talk = await submitting.talk();
    expect(await talk.ask(MAIL)).toBe(REFUSED);
    expect(await talk.ask('RCPT TO:<bob@example.org>\r\n')).toMatch(/^503/);
    await resume();
    expect(await talk.ask(MAIL)).toMatch(/^250/);
    talk.close();
  });

  test('is refused after DATA if it was suspended in between, and nothing is accepted', async () => {
    const before = await submitting.accepted();
    const talk = await submitting.talk();
    for (const command of [MAIL, 'RCPT TO:<bob@example.org>\r\n', 'DATA\r\n']) await talk.ask(command);
    await suspend();
    expect(await talk.ask(`${HEADER}\r\nHi\r\n.\r\n`)).toBe(REFUSED);
    expect(await submitting.accepted()).toBe(before);
    await resume();
    talk.close();
  });

  test('is refused with one line of ASCII, whatever the reason is', async () => {
    await suspend(`Grüße ${'ü'.repeat(490)}`);
    const talk = await submitting.talk();
    expect(await talk.ask(MAIL)).toMatch(/^550 5\.7\.1 [ -~]{1,500}$/);
    await resume();
    talk.close();
  });
});
