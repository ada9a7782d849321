import { describe, expect, it } from 'vitest';
import { send, start } from '../smtp-client/one-session.ts';
import { BOTH, rsa, signing, verify } from './signed-mail.ts';

const NO_UTF8 = { EHLO: () => '250-scripted\r\n250 PIPELINING' };

describe('mail that is signed', () => {
  it('for only the recipients that the server can address is verified', async () => {
    const { server, transport } = await start(NO_UTF8);
    const recipients = [
      { id: 'rcp_1', kind: 'to' as const, address: 'jörg@b.test', name: 'Jörg' },
      { id: 'rcp_2', kind: 'to' as const, address: 'two@b.test' },
    ];
    const outcomes = await send(transport, { signing, recipients });
    expect(outcomes.map(([outcome]) => outcome)).toEqual(['bounced', 'delivered']);
    expect(await verify(`${server.messages[0]}\r\n`)).toEqual(BOTH);
  });

  it('is identical on the next session if the first was stale', async () => {
    let dropped = false;
    const { server, transport } = await start({
      MAIL: (_, times) => {
        if (times !== 1 || dropped) return undefined;
        dropped = true;
        return 'drop';
      },
    });
    for (const text of ['one', 'two']) {
      expect((await send(transport, { signing, text })).map(([outcome]) => outcome)).toEqual(['delivered']);
    }
    expect([dropped, server.messages.length]).toEqual([true, 2]);
    for (const message of server.messages) expect(await verify(`${message}\r\n`)).toEqual(BOTH);
  });

  it('with an unreadable key opens no session, and delays no other mail', async () => {
    const { server, transport } = await start();
    const broken = { ...rsa.key, privateKey: 'broken' };
    await expect(send(transport, { signing: [broken] })).rejects.toThrow('cannot be read');
    expect(server.connections()).toBe(0);
    expect(await send(transport, { signing })).toMatchObject([['delivered', 250, expect.anything()]]);
  });

  it('is signed before a session is requested', async () => {
    const { server, transport } = await start();
    let asked: number | null = null;
    const key = {
      ...rsa.key,
      get privateKey() {
        asked ??= server.connections();
        return rsa.key.privateKey;
      },
    };
    await send(transport, { signing: [key] });
    expect([asked, server.connections()]).toEqual([0, 1]);
  });
});
