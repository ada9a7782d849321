import { describe, expect, test } from 'vitest';
import { deadPort, startSaying, startSmarthost } from './smarthosts.ts';
import { complaintOf, openWatched } from './watched-smarthost.ts';

const MINUTE_MS = 60_000;

describe('a smarthost that accepts no mail', () => {
  test('is logged with the remedy', async () => {
    const login = await startSmarthost();
    const secure = await startSmarthost({ secure: true });
    const without = await startSmarthost({ disabledCommands: ['AUTH'] });
    const wanting = await startSmarthost({ authOptional: false });
    const http = await startSaying('HTTP/1.1 400 Bad Request\r\n\r\n');
    const refusing = await startSaying('554 5.7.1 you are blocked\r\n');
    const of = (rest: string, scheme = 'smtp'): Promise<string> => complaintOf(`${scheme}://${rest}`);
    expect(await of(`127.0.0.1:${await deadPort()}`)).toMatch(
      /nothing answers there: correct host and port in MAIL_URL/,
    );
    expect(await of('no-such-name.invalid:25')).toMatch(/its name is not known: correct the host in MAIL_URL/);
    expect(await of(`user:wrong@127.0.0.1:${login}`)).toMatch(
      /refuses the login: correct user and password in MAIL_URL/,
    );
    expect(await of(`user:secret@127.0.0.1:${without}`)).toMatch(/offers no login there: set its port for submission/);
    expect(await of(`127.0.0.1:${wanting}`)).toMatch(/takes mail after a login only: set user and password/);
    expect(await of(`127.0.0.1:${login}`, 'smtps')).toMatch(/TLS with it fails: `smtps:` in MAIL_URL is for/);
    expect(await of(`127.0.0.1:${secure}`, 'smtps')).toMatch(/its certificate is not trusted/);
    expect(await of(`127.0.0.1:${http}`)).toMatch(/says nothing that is SMTP: correct port and scheme in MAIL_URL/);
    expect(await of(`127.0.0.1:${refusing}`)).toMatch(/refuses the session: ask its operator/);
  });

  test('is logged without password, user and the text of the server', async () => {
    const port = await startSmarthost();
    const { send, logger } = openWatched(`smtp://ann%40example.net:hunter2@127.0.0.1:${port}`);
    await send();
    expect(logger.fieldsOf('error')).toEqual([{ host: '127.0.0.1', port, code: 535, enhanced: '5.7.8' }]);
    expect(logger.said('error').join()).not.toMatch(/ann|hunter2|wrong/);
  });

  test('is logged once, again after ten minutes, and when it accepts mail again', async () => {
    let isOpen = false;
    const port = await startSmarthost({
      onAuth: (_auth, _session, callback) =>
        isOpen ? callback(null, { user: 'x' }) : callback(Object.assign(new Error('no'), { responseCode: 535 })),
    });
    const { send, logger, wait } = openWatched(`smtp://user:secret@127.0.0.1:${port}`);
    await Promise.all([send(), send(), send()]);
    await send();
    expect(logger.said('error')).toHaveLength(1);
    wait(11 * MINUTE_MS);
    await send();
    expect(logger.said('error')).toHaveLength(2);
    expect(logger.said('info')).toEqual([]);
    isOpen = true;
    expect(await send()).toBe('delivered');
    expect(await send()).toBe('delivered');
    expect(logger.said('info')).toEqual(['the smarthost accepts mail again']);
  });

  test('is not logged for one that accepts mail and refuses more sessions, nor for one recipient', async () => {
    let sessions = 0;
    const port = await startSmarthost({
      onConnect: (_session, callback) => {
        sessions += 1;
        callback(sessions > 1 ? Object.assign(new Error('too many'), { responseCode: 421 }) : null);
      },
      onData: (stream, _session, callback) => stream.resume().on('end', () => setTimeout(callback, 100)),
      onRcptTo: ({ address }, _session, callback) =>
        callback(address.startsWith('nobody') ? Object.assign(new Error('5.1.1 no'), { responseCode: 550 }) : null),
    });
    const { send, logger } = openWatched(`smtp://127.0.0.1:${port}`);
    expect(await send()).toBe('delivered');
    expect(await Promise.all([send(), send()])).toContain('deferred');
    expect(logger.said('error')).toEqual([]);
  });
});
