import { describe, expect, onTestFinished, test } from 'vitest';
import { problemOfRefusal } from '../../../../src/adapters/mail/smarthost.ts';
import { parseReply } from '../../../../src/lib/smtp/smtp.ts';
import { issueCertificate } from '../../../support/certificates.ts';
import { startScriptedServer } from '../../../support/scripted-smtp-server/scripted-server.ts';
import { startSmarthost } from './smarthosts.ts';
import { complaintOf, openWatched } from './watched-smarthost.ts';

const MINUTE_MS = 60_000;

/** Starts a scripted smarthost. */
const scripted = async (script: Parameters<typeof startScriptedServer>[0]): Promise<string> => {
  const server = await startScriptedServer(script);
  onTestFinished(server.close);
  return `127.0.0.1:${server.port}`;
};

describe('a refusal that is about this service', () => {
  test('at any recipient defers the message, and is logged', async () => {
    const denying = await scripted({ RCPT: () => '554 5.7.1 <ann@b.test>: Relay access denied' });
    const { send, logger, wait } = openWatched(`smtp://${denying}`);
    expect(await send()).toBe('deferred');
    await send();
    expect(logger.said('error')).toEqual([
      expect.stringMatching(/^the smarthost accepts no mail: it relays no mail for this service/),
    ]);
    wait(11 * MINUTE_MS);
    await send();
    expect(logger.said('error')).toHaveLength(2);
    expect(logger.said('info')).toEqual([]);
  });

  test('is logged for some mail while other mail is delivered', async () => {
    let isDenied = false;
    const place = await scripted({
      RCPT: () => (isDenied ? '550 5.7.1 <ann@b.test>... Relaying denied' : undefined),
    });
    const { send, logger } = openWatched(`smtp://${place}`);
    expect(await send()).toBe('delivered');
    isDenied = true;
    expect([await send(), await send()]).toEqual(['deferred', 'deferred']);
    expect(logger.said('error')).toEqual([
      expect.stringMatching(/^some mail waits because the smarthost rejects it: it relays no mail/),
    ]);
  });

  test('ends a message if it is about its recipient or its content', async () => {
    for (const said of [
      '550 5.1.1 <ann@b.test>: User unknown',
      '550 5.7.1 RESOLVER.RST.AuthRequired; authentication required',
    ]) {
      const { send, logger } = openWatched(`smtp://${await scripted({ RCPT: () => said })}`);
      expect(await send()).toBe('bounced');
      expect(logger.said('error')).toEqual([]);
    }
    const { send } = openWatched(
      `smtp://${await scripted({ dot: () => '554 5.7.1 Message is listed in zen.spamhaus.org' })}`,
    );
    expect(await send()).toBe('bounced');
  });

  test.each([
    ['relay_denied', '554 5.7.1 <a@b.test>: Relay access denied'],
    ['relay_denied', '454 4.7.1 <a@b.test>: Relay access denied'],
    ['relay_denied', '550 relay not permitted'],
    ['relay_denied', '550 5.7.1 <a@b.test>... Relaying denied. Proper authentication required.'],
    ['relay_denied', "553 sorry, that domain isn't in my list of allowed rcpthosts (#5.7.1)"],
    ['relay_denied', '550 5.7.54 SMTP; Unable to relay recipient in non-accepted domain'],
    ['relay_denied', '550 5.7.1 Relaying to <a@b.test> denied (authentication required)'],
    ['relay_denied', '550-5.7.1 Invalid credentials for relay [192.0.2.1]. The IP address you have registered'],
    ['login_wanted', '530 5.7.57 SMTP; Client was not authenticated to send anonymous mail during MAIL FROM'],
    ['login_wanted', '530 5.7.0 Authentication required'],
    ['login_wanted', '553 5.7.1 <a@c.test>: Sender address rejected: not logged in'],
    ['login_wanted', '550 SMTP AUTH is required for message submission on port 587'],
    ['tls_wanted', '530 5.7.0 Must issue a STARTTLS command first'],
    ['sender_not_allowed', '553 5.7.1 <a@c.test>: Sender address rejected: not owned by user ann'],
    ['sender_not_allowed', '550 5.7.60 SMTP; Client does not have permissions to send as this sender'],
    [
      'sender_not_allowed',
      '554 Message rejected: Email address is not verified. The following identities failed the check',
    ],
    ['sender_not_allowed', '550 The from address does not match a verified Sender Identity'],
    ['blocked', '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using zen.spamhaus.org'],
    ['blocked', '554 5.7.1 <unknown[192.0.2.1]>: Client host rejected: Access denied'],
    ['blocked', '450 4.7.25 Client host rejected: cannot find your reverse hostname, [192.0.2.1]'],
    ['ehlo_name', '550 5.7.1 <x>: Helo command rejected: Host not found'],
    [null, '550 5.1.1 <a@b.test>: Recipient address rejected: User unknown'],
    [null, '550 5.1.8 <a@c.test>: Sender address rejected: Domain not found'],
    [null, '452 4.3.1 Insufficient system storage'],
    [null, '250 2.1.5 Ok'],
  ])('is recognised as %s: %s', (problem, said) => {
    const reply = {
      ...parseReply(said),
      mx: 'relay.test',
      tls: null,
      recipientId: 'rcp_1',
      stage: 'recipient',
    } as const;
    expect(problemOfRefusal({ ...reply, outcome: 'bounced' })).toBe(problem);
  });
});

describe('a login', () => {
  const saying = (...lines: readonly string[]): string =>
    ['250-scripted', ...lines.map((line) => `250-${line}`), '250 ENHANCEDSTATUSCODES'].join('\r\n');

  test.each([
    ['AUTH GSSAPI LOGIN', 'AUTH LOGIN'],
    ['AUTH LOGIN PLAIN', 'AUTH PLAIN'],
    ['AUTH=XOAUTH2 CRAM-MD5', 'AUTH CRAM-MD5'],
    ['auth login', 'AUTH LOGIN'],
  ])('uses an offered mechanism of %s: %s', async (offer, used) => {
    const asked: string[] = [];
    const place = await scripted({
      EHLO: () => saying(offer),
      AUTH: (line) => {
        asked.push(line);
        return '535 5.7.8 no';
      },
    });
    await openWatched(`smtp://user:secret@${place}`).send();
    expect(asked[0]?.toUpperCase().startsWith(used)).toBe(true);
  });

  test('is not tried if no mechanism with user and password is offered, and that is logged', async () => {
    const asked: string[] = [];
    const place = await scripted({
      EHLO: () => saying('AUTH GSSAPI NTLM XOAUTH2'),
      AUTH: (line) => {
        asked.push(line);
        return '504 5.5.4 unknown mechanism';
      },
    });
    expect(await complaintOf(`smtp://user:secret@${place}`)).toMatch(/offers no login with user and password/);
    expect(asked).toEqual([]);
  });
});

test('a certificate for another name is reported as such', async () => {
  const authority = issueCertificate({ subject: 'Authority' });
  const { certificate, key } = issueCertificate({ names: ['other.test'], issuer: authority });
  const port = await startSmarthost({ secure: true, cert: certificate, key });
  expect(await complaintOf(`smtps://127.0.0.1:${port}`, { ca: authority.certificate })).toMatch(
    /its certificate is for another name: set the host in MAIL_URL to a name that the certificate has/,
  );
});
