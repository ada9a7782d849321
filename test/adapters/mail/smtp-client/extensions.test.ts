import { describe, expect, it } from 'vitest';
import type { Script } from '../../../support/scripted-smtp-server/scripted-server.ts';
import { outgoingMail } from '../outgoing-mail.ts';
import { DELIVERED, send, start, system, three } from './one-session.ts';

const offering =
  (...keywords: readonly string[]) =>
  (): string =>
    `250-scripted\r\n${keywords.map((keyword) => `250-${keyword}\r\n`).join('')}250 HELP`;
const EHLO = offering('PIPELINING', 'SIZE', 'DSN', '8BITMIME', 'SMTPUTF8', 'CHUNKING');

/** A server that requires a sender before recipients, and recipients before a message. */
const startStrict = (script: Script) => start(script, { strict: true });

describe('extensions that a server offers are used', () => {
  it('DSNs are requested for failures only, with the message and the recipient', async () => {
    const { server, transport } = await startStrict({ EHLO });
    expect(await send(transport, { envelopeTo: ['a+b=c@b.test'] })).toEqual([DELIVERED]);
    expect(server.lines.slice(1, 3)).toEqual([
      expect.stringMatching(/^MAIL FROM:<from@a\.test> SIZE=\d+ RET=HDRS ENVID=0123456789@a\.test$/),
      'RCPT TO:<a+b=c@b.test> NOTIFY=FAILURE ORCPT=rfc822;a+2Bb+3Dc@b.test',
    ]);
  });

  it('non-ASCII addresses use SMTPUTF8, 8-bit messages BODY, and DSN parameters ASCII', async () => {
    const { server, transport } = await startStrict({ EHLO });
    expect(await send(transport, { envelopeTo: ['jörg@b.test'] })).toEqual([DELIVERED]);
    expect(server.lines[1]).toMatch(/^MAIL FROM:<from@a\.test> SMTPUTF8 BODY=8BITMIME SIZE=/);
    expect(server.lines[2]).toMatch(/^RCPT TO:<j.*> NOTIFY=FAILURE ORCPT=utf-8;j\\x\{F6\}rg@b\.test$/);
    await send(transport);
    expect(server.lines[4]).not.toMatch(/SMTPUTF8|BODY/);
  });

  it('none without an offer', async () => {
    const { server, transport } = await startStrict({ EHLO: offering() });
    expect(await send(transport)).toEqual([DELIVERED]);
    expect(server.lines.slice(1, 4)).toEqual(['MAIL FROM:<from@a.test>', 'RCPT TO:<to@b.test>', 'DATA']);
  });
});

describe('ENVID and ORCPT of a report', () => {
  const linesFor = async (messageId: string, ...to: readonly string[]) => {
    const { server, transport } = await startStrict({ EHLO });
    const mail = outgoingMail({ envelopeTo: to });
    const envelope = { ...mail.envelope, id: messageId };
    await transport.send({ ...mail, envelope }, { deadlineMs: system.monotonicMs() + 5_000 });
    return server.lines.slice(1, -1).map((line) => line.replace(/ SIZE=\d+/, ''));
  };

  it('are encoded so that they cannot end a command', async () => {
    expect(await linesFor('<a b\r\nDATA=+@x>', 'ü\\+=@b.test')).toEqual([
      'MAIL FROM:<from@a.test> SMTPUTF8 BODY=8BITMIME RET=HDRS ENVID=a+20b+0D+0ADATA+3D+2B@x',
      expect.stringMatching(/ NOTIFY=FAILURE ORCPT=utf-8;\\x\{FC\}\\x\{5C\}\\x\{2B\}\\x\{3D\}@b\.test$/),
    ]);
  });

  it.each([`<${'x'.repeat(101)}>`, '<ü@x>'])('is left out if it is too long or not ASCII: %s', async (id) => {
    expect((await linesFor(id, 'to@b.test'))[0]).toBe('MAIL FROM:<from@a.test> RET=HDRS');
  });

  it('are omitted for recipients that are too long', async () => {
    expect((await linesFor('<1@x>', `${'+'.repeat(200)}@b.test`))[1]).toMatch(/> NOTIFY=FAILURE$/);
    expect((await linesFor('<1@x>', 'one@b.test', 'two@b.test')).slice(1)).toEqual([
      'RCPT TO:<one@b.test> NOTIFY=FAILURE',
      'RCPT TO:<two@b.test> NOTIFY=FAILURE',
    ]);
  });
});

describe('a large message', () => {
  const text = 'A line of a large message.\r\n.\r\n'.repeat(5_000);

  it('arrives unchanged, whatever the server offers', async () => {
    const { server, transport } = await startStrict({ EHLO });
    expect(await send(transport, { text })).toEqual([DELIVERED]);
    expect(server.lines.slice(3)).toEqual(['DATA']);
    expect(server.messages[0]).toContain('\r\n..\r\nA line');
  });

  it('goes to the accepted recipients, and the others keep their replies', async () => {
    const RCPT = (line: string): string | undefined => (line.includes('two@') ? '550 5.1.1 No' : undefined);
    const { server, transport } = await startStrict({ EHLO, RCPT });
    expect(await send(transport, { ...three, text })).toEqual([DELIVERED, ['bounced', 550, 'No'], DELIVERED]);
    expect(server.copies.map(({ to }) => to)).toEqual([['one@b.test', 'three@b.test']]);
  });
});

describe('an extension that is offered and then refused', () => {
  const without =
    (words: RegExp, reply: string) =>
    (line: string): string | undefined =>
      words.test(line) ? reply : undefined;

  it.each<[string, Script]>([
    ['DSN at MAIL', { MAIL: without(/ENVID/, '555 5.5.4 Unsupported option: ENVID') }],
    ['DSN at MAIL, unnamed', { MAIL: without(/ENVID/, '501 Syntax error') }],
    ['SIZE', { MAIL: without(/SIZE/, '501 5.5.4 Syntax: bad SIZE') }],
    ['SIZE, unnamed', { MAIL: without(/SIZE/, '555 What?') }],
    ['DSN at RCPT', { RCPT: without(/NOTIFY/, '555 5.5.4 Unsupported option') }],
    ['DSN at RCPT, as a command that is unknown', { RCPT: without(/NOTIFY/, '500 What?') }],
    ['everything', { MAIL: without(/> /, '504 No'), RCPT: without(/> /, '504 No') }],
  ])('does not end the mail: %s', async (_, script) => {
    const { server, transport } = await startStrict({ ...script, EHLO });
    expect(await send(transport, three)).toEqual([DELIVERED, DELIVERED, DELIVERED]);
    const said = server.lines.length;
    expect(await send(transport, three)).toEqual([DELIVERED, DELIVERED, DELIVERED]);
    expect(server.lines.length - said).toBe(5); // nothing is retried
    expect([server.connections(), server.copies.map(({ to }) => to.length)]).toEqual([1, [3, 3]]);
  });

  it('for one recipient costs one more transaction, and no recipient gets two copies', async () => {
    const RCPT = (line: string): string | undefined =>
      /two@.*NOTIFY/.test(line) ? '555 5.5.4 Unsupported option' : undefined;
    const { server, transport } = await startStrict({ EHLO, RCPT });
    expect(await send(transport, three)).toEqual([DELIVERED, DELIVERED, DELIVERED]);
    expect(server.copies.map(({ to }) => to)).toEqual([['one@b.test', 'three@b.test'], ['two@b.test']]);
  });

  it('8BITMIME is dropped before SMTPUTF8', async () => {
    const { server, transport } = await startStrict({ EHLO, MAIL: without(/BODY/, '555 5.5.4 BODY?') });
    expect(await send(transport, { envelopeTo: ['jörg@b.test'] })).toEqual([DELIVERED]);
    expect(server.lines.filter((line) => line.startsWith('MAIL'))).toHaveLength(2);
  });

  it('SMTPUTF8 bounces the recipients that need it, and the others get the message', async () => {
    const { server, transport } = await startStrict({
      EHLO,
      MAIL: without(/SMTPUTF8/, '555 5.5.4 SMTPUTF8 is not known'),
    });
    expect(await send(transport, { envelopeTo: ['jörg@b.test', 'two@b.test'] })).toEqual([
      ['bounced', 0, 'the server accepts no addresses outside ASCII'],
      DELIVERED,
    ]);
    expect(server.copies.map(({ to }) => to)).toEqual([['two@b.test']]);
  });

  it('is not disabled by an invalid address, nor for ever', async () => {
    const { server, transport } = await startStrict({ EHLO, MAIL: () => '501 5.1.7 Bad sender' });
    expect(await send(transport)).toEqual([['bounced', 501, 'Bad sender']]);
    expect(server.lines.filter((line) => line.startsWith('MAIL'))).toHaveLength(1);
    const other = await startStrict({ EHLO, MAIL: () => '501 No' });
    expect(await send(other.transport)).toEqual([['bounced', 501, 'No']]);
    expect(other.server.lines.filter((line) => line.startsWith('MAIL'))).toHaveLength(3);
  });
});

describe('too many recipients', () => {
  const many = { envelopeTo: Array.from({ length: 10 }, (_, index) => `r${index}@b.test`) };
  /** Accepts the first `count` recipients of each transaction. */
  const taking = (count: number, reply: string, more: Script = {}): Script => {
    let taken = 0;
    return {
      EHLO,
      MAIL: () => {
        taken = 0;
        return undefined;
      },
      RCPT: () => {
        taken += 1;
        return taken > count ? reply : undefined;
      },
      ...more,
    };
  };

  it.each(['452 4.5.3 Too many', '552 5.5.3 Too many', '452 too many recipients', '552 Too many rcpts', '452 Full'])(
    'for one transaction get the message in several: %s',
    async (reply) => {
      const { server, transport } = await startStrict(taking(4, reply));
      expect(await send(transport, many)).toEqual(Array(10).fill(DELIVERED));
      expect(server.copies.map(({ to }) => to.length)).toEqual([4, 4, 2]);
      expect(new Set(server.copies.flatMap(({ to }) => to)).size).toBe(10);
      expect(server.connections()).toBe(1);
    },
  );

  it('are deferred even if none is accepted', async () => {
    const { server, transport } = await startStrict(taking(0, '452 4.5.3 Too many'));
    expect(await send(transport, many)).toEqual(Array(10).fill(['deferred', 452, 'Too many']));
    expect(server.copies).toEqual([]);
  });

  it('a full mailbox is not', async () => {
    const { server, transport } = await startStrict(taking(4, '452 4.2.2 Mailbox full'));
    expect((await send(transport, many)).slice(3, 5)).toEqual([DELIVERED, ['deferred', 452, 'Mailbox full']]);
    expect(server.copies).toHaveLength(1);
  });

  it.each<[string, Script, readonly unknown[]]>([
    ['refuses the sender', { MAIL: (_, times) => (times > 1 ? '451 4.7.1 Slow down' : undefined) }, [451, 'deferred']],
    ['closes', { MAIL: (_, times) => (times === 2 ? '421 4.7.0 Bye' : undefined) }, [421, 'deferred']],
    ['drops', { MAIL: (_, times) => (times === 2 ? 'drop' : undefined) }, [0, 'deferred']],
    ['refuses the content', { dot: (_, times) => (times > 1 ? '554 5.7.1 Spam' : undefined) }, [554, 'bounced']],
    ['drops after the dot', { dot: (_, times) => (times > 1 ? 'drop' : undefined) }, [0, 'unknown']],
  ])(
    'in the second transaction get its outcome when the server then %s, and none gets two copies',
    async (_, more, expected) => {
      const script = taking(4, '452 4.5.3 Too many');
      const { MAIL } = more;
      const both: Script = {
        ...script,
        ...more,
        MAIL: (line, times) => script.MAIL?.(line, times) ?? MAIL?.(line, times),
      };
      const { server, transport } = await startStrict(both);
      await send(transport); // opens the session: a failure on a reused one might be retried
      server.copies.length = 0;
      const outcomes = await send(transport, many);
      const [code, outcome] = expected;
      expect(outcomes.slice(0, 4)).toEqual(Array(4).fill(DELIVERED));
      expect(outcomes.slice(4, 8).map(([found, said]) => [found, said])).toEqual(Array(4).fill([outcome, code]));
      expect(server.copies.map(({ to }) => to)).toEqual([many.envelopeTo.slice(0, 4)]);
    },
  );
});
