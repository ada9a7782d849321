import { describe, expect, it } from 'vitest';
import type { Script } from '../../../support/scripted-smtp-server/scripted-server.ts';
import { DELIVERED, refuseTwo, send, start, TWO_REFUSED, three } from './one-session.ts';

describe('a server without PIPELINING is sent one command at a time', () => {
  const EHLO = (): string => '250-plain\r\n250 SIZE 1000000';
  /** Delays each reply, and counts commands that arrive before it. */
  const startSlow = async (script: Script) => {
    const early: string[] = [];
    const { server, transport } = await start({ ...script, EHLO }, (socket, text) => {
      const known = server.lines.length;
      setTimeout(() => {
        early.push(...server.lines.slice(known));
        socket.write(text);
      }, 10);
    });
    return { server, transport, early };
  };

  it('and gets the message', async () => {
    const { server, transport, early } = await startSlow(refuseTwo);
    expect(await send(transport, three)).toEqual(TWO_REFUSED);
    expect(server.lines.slice(1, 6)).toEqual([
      expect.stringMatching(/^MAIL FROM:<from@a\.test> SIZE=\d+$/),
      'RCPT TO:<one@b.test>',
      'RCPT TO:<two@b.test>',
      'RCPT TO:<three@b.test>',
      'DATA',
    ]);
    expect(early).toEqual([]);
  });

  it('and only RSET once the sender or every recipient was refused', async () => {
    const { server, transport } = await startSlow({
      MAIL: (_, times) => (times === 0 ? '451 4.7.1 Later' : undefined),
      RCPT: () => '550 5.1.1 No',
    });
    expect(await send(transport)).toEqual([['deferred', 451, 'Later']]);
    expect(await send(transport)).toEqual([['bounced', 550, 'No']]);
    await transport.close();
    expect(server.lines.map((line) => line.slice(0, 4))).toEqual([
      'EHLO',
      'MAIL',
      'RSET',
      'MAIL',
      'RCPT',
      'RSET',
      'QUIT',
    ]);
  });
});

describe('the capabilities of a server', () => {
  it('are known if it offered STARTTLS and then refused it', async () => {
    const EHLO = (): string => '250-x\r\n250-STARTTLS\r\n250-SMTPUTF8\r\n250 PIPELINING';
    const { server, transport } = await start({ EHLO });
    expect(await send(transport, { envelopeTo: ['jörg@b.test'] })).toEqual([DELIVERED]);
    expect(server.lines).toContain('MAIL FROM:<from@a.test> SMTPUTF8');
  });
});

describe('a message that DATA accepts without a recipient', () => {
  it('is sent empty if every recipient was refused, and the session is kept', async () => {
    const { server, transport } = await start({ RCPT: (_, times) => (times === 0 ? '550 5.1.1 No' : undefined) });
    expect(await send(transport)).toEqual([['bounced', 550, 'No']]);
    expect(server.messages).toEqual(['']);
    expect(await send(transport)).toEqual([DELIVERED]);
    expect(server.connections()).toBe(1);
  });

  it('is not ended if the sender was refused, and replies about recipients do not count', async () => {
    const { server, transport } = await start({
      MAIL: (_, times) => (times === 0 ? '451 4.7.1 Later' : undefined),
      RCPT: (_, times) => (times === 0 ? '550 5.5.1 No sender' : undefined),
    });
    expect(await send(transport)).toEqual([['deferred', 451, 'Later']]);
    expect(server.messages).toEqual([]);
    expect(await send(transport)).toEqual([DELIVERED]);
    expect(server.connections()).toBe(2);
  });

  it('is not sent if DATA is refused after the sender', async () => {
    const { server, transport } = await start({
      MAIL: (_, times) => (times === 0 ? '550 5.7.1 Not you' : undefined),
      RCPT: (_, times) => (times === 0 ? '503 5.5.1 MAIL first' : undefined),
      DATA: (_, times) => (times === 0 ? '503 5.5.1 MAIL first' : undefined),
    });
    expect(await send(transport)).toEqual([['deferred', 550, 'Not you']]);
    expect(await send(transport)).toEqual([DELIVERED]);
    expect([server.connections(), server.messages.length]).toEqual([1, 1]);
  });
});

describe('an address', () => {
  it.each(['a@b.test\r\nRCPT TO:<eve@b.test', 'a@b.test\n', 'a\0@b.test', 'a@b.test> SIZE=1', '<a@b.test'])(
    'that contains more than an address is a fault, and nothing of it is sent: %j',
    async (address) => {
      const { server, transport } = await start();
      expect(await send(transport)).toEqual([DELIVERED]);
      const said = server.lines.length;
      await expect(send(transport, { envelopeTo: ['to@b.test', address] })).rejects.toThrow('address');
      await expect(send(transport, { from: { address }, envelopeTo: ['to@b.test'] })).rejects.toThrow();
      expect(server.lines).toHaveLength(said);
      expect(await send(transport)).toEqual([DELIVERED]);
      expect(server.connections()).toBe(1);
    },
  );
});

describe('an address with a quoted local part (RFC 5321 §4.1.2)', () => {
  it.each(['"john doe"@b.test', '"a@b"@b.test', '"say \\"hi\\""@b.test'])(
    'is written unchanged: %s',
    async (address) => {
      const { server, transport } = await start({ EHLO: () => '250-x\r\n250-PIPELINING\r\n250 DSN' });
      expect(await send(transport, { envelopeTo: [address] })).toEqual([DELIVERED]);
      const xtext = address.replaceAll(' ', '+20');
      expect(server.lines).toContain(`RCPT TO:<${address}> NOTIFY=FAILURE ORCPT=rfc822;${xtext}`);
    },
  );
});
