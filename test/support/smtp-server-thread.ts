import { createServer, type Socket } from 'node:net';
import { parentPort } from 'node:worker_threads';

const ANSWERS: Readonly<Record<string, string>> = {
  EHLO: '250-thread.test\r\n250 PIPELINING\r\n',
  DATA: '354 go on\r\n',
  QUIT: '221 bye\r\n',
};
const OK = '250 ok\r\n';

const serve = (socket: Socket): void => {
  let rest = '';
  let inMessage = false;

  const answer = (line: string): string => {
    const verb = line.slice(0, 4).toUpperCase();
    if (inMessage && line !== '.') return '';
    inMessage = !inMessage && verb === 'DATA';
    return ANSWERS[verb] ?? OK;
  };

  socket.setEncoding('latin1');
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\r\n');
    rest = lines.pop() ?? '';
    const said = lines.map(answer).join('');
    if (said !== '') socket.write(said);
  });
  socket.write('220 thread.test\r\n');
};

/** A mail server on its own thread. It answers while the test's thread is blocked, and accepts all mail. */
const server = createServer(serve);
server.listen(0, '127.0.0.1', () => parentPort?.postMessage(server.address()));
