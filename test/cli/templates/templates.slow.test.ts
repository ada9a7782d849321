import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { diffTemplatesCommand, pushTemplatesCommand } from '../../../src/cli/templates/commands.ts';
import { newFolder, useTemplateFiles, YAML } from './template-files.ts';

const { now, push, pull, diff, write, read, ask, writeWelcome } = useTemplateFiles();

describe('templates as files', () => {
  test('are pushed, published, and pulled unchanged into another folder', async () => {
    await writeWelcome();
    expect(await push({ 'dry-run': true })).toMatchObject({ results: { welcome: 'to create' }, code: 2 });
    expect((await ask('GET', '')).data).toEqual([]);
    expect(await diff()).toMatchObject({ results: { welcome: 'only here' }, code: 2 });
    expect(await push({ publish: true })).toMatchObject({ rows: [{ result: 'published', version: 1 }], code: 0 });
    expect((await ask('GET', '/welcome')).content).toMatchObject({
      html: '<p>Welcome\n{{ name }}</p>',
      text: 'Welcome {{ name }}',
      locales: { de: { subject: 'Willkommen {{ name }}', text: null } },
    });
    expect(await push({ publish: true })).toMatchObject({ results: { welcome: 'unchanged' }, code: 0 });
    const other = join(await newFolder(), 'not there yet');
    await expect(push({}, other)).rejects.toThrow('is not a readable folder');
    expect(await pull({ 'dry-run': true }, other)).toMatchObject({ results: { welcome: 'to write' }, code: 2 });
    await expect(readdir(other)).rejects.toThrow('ENOENT');
    expect(await pull({}, other)).toMatchObject({ results: { welcome: 'written' }, code: 0 });
    for (const path of ['template.html', 'text.liquid', 'locales/de/template.html', 'template.lock'])
      expect(await read(`welcome/${path}`, other)).toBe(await read(`welcome/${path}`));
    expect(await diff(other)).toMatchObject({ rows: [], code: 0 });
  });

  test('differ by line, and not by the line endings of another system', async () => {
    await writeWelcome();
    await push();
    await write('welcome/template.yaml', YAML.replaceAll('\n', '\r\n'));
    await write('welcome/template.html', '<p>Welcome\r\n{{ name }}</p>\r\n');
    expect((await diff()).rows).toEqual([]);
    await write('welcome/template.html', '<p>Hello\n{{ name }}</p>\n');
    expect((await diff()).rows).toMatchObject([
      {
        template: 'welcome',
        changes: [{ field: 'html', lines: [{ text: '<p>Welcome' }, { text: '<p>Hello' }, { kind: 'same' }] }],
      },
    ]);
    expect((await pull()).results).toEqual({ welcome: 'changed here' });
    expect((await push()).results).toEqual({ welcome: 'changed' });
  });

  test('are in conflict when the service was changed in between', async () => {
    await writeWelcome();
    await push();
    await ask('PATCH', '/welcome', { subject: 'Other {{ name }}' });
    expect(await push({ publish: true })).toMatchObject({ results: { welcome: 'conflict' }, code: 3 });
    expect((await pull()).results).toEqual({ welcome: 'written' });
    expect(await read('welcome/template.yaml')).toContain('Other {{ name }}');
    await ask('PATCH', '/welcome', { subject: 'Third {{ name }}' });
    await write('welcome/template.html', '<p>Mine {{ name }}</p>');
    expect(await push()).toMatchObject({ results: { welcome: 'conflict' }, code: 3 });
    expect(await pull()).toMatchObject({ results: { welcome: 'conflict' }, code: 3 });
    expect((await push({ overwrite: true })).results).toEqual({ welcome: 'changed' });
    expect((await ask('GET', '/welcome')).content).toMatchObject({ html: '<p>Mine {{ name }}</p>' });
  });

  test('pushed twice at once are each stored whole by one of the pushes', async () => {
    const other = await newFolder();
    await writeWelcome();
    await push();
    await pull({}, other);
    await write('welcome/template.html', '<p>A {{ name }}</p>');
    await write('welcome/template.html', '<p>B {{ name }}</p>', other);
    const both = await Promise.all([push(), push({}, other)]);
    expect(both.map(({ results }) => results.welcome).sort()).toEqual(['changed', 'conflict']);
    const winner = both[0]?.results.welcome === 'changed' ? 'A' : 'B';
    expect((await ask('GET', '/welcome')).content.html).toBe(`<p>${winner} {{ name }}</p>`);
  });

  test('continue with the others when one is rejected, with line and column', async () => {
    await writeWelcome();
    await write('broken/template.yaml', 'name: Broken\nsubject: Hi\n');
    await write('broken/template.html', '<p>\n{{ nobody }}</p>');
    const { rows, code } = await push({ publish: true });
    expect(rows).toMatchObject([
      {
        template: 'broken',
        result: 'refused',
        details: [/template_invalid\) \[request \w+\]$/, /^html line 2, column 4: the variable 'nobody'/].map(
          (sentence) => expect.stringMatching(sentence),
        ),
      },
      { template: 'welcome', result: 'published' },
    ]);
    expect(code).toBe(1);
  });

  test('of MJML and layouts are published in order of their dependencies', async () => {
    await write('a-mail/template.yaml', 'name: Mail\nsubject: Hi\nlayout: z-layout\n');
    await write('a-mail/template.html', '<p>Hi</p>');
    await write('z-layout/template.yaml', 'name: Layout\nsubject: "-"\n');
    await write(
      'z-layout/template.mjml',
      '<mjml><mj-body><mj-section><mj-column><mj-text>{{ content }}</mj-text></mj-column></mj-section></mj-body></mjml>',
    );
    expect((await push({ publish: true })).results).toEqual({ 'a-mail': 'published', 'z-layout': 'published' });
    const { html } = await ask('POST', '/a-mail/render', { version: 1 });
    expect(html).toMatch(/<table[\s\S]+<p>Hi<\/p>/);
  });
});

describe('the document', () => {
  const blocks = async (language: string): Promise<readonly string[]> => {
    const text = await readFile(new URL('../../../docs/templates-as-files.md', import.meta.url), 'utf8');
    return [...text.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))].map(([, block = '']) => block);
  };

  test('shows a template that can be published as is', async () => {
    const [settings = ''] = await blocks('yaml');
    const [mjml = ''] = await blocks('html');
    await write('welcome/template.yaml', settings);
    await write('welcome/template.mjml', mjml);
    await write('welcome/locales/de/template.mjml', mjml.replace('Welcome', 'Willkommen'));
    expect((await push({ publish: true })).results).toEqual({ welcome: 'published' });
  });

  test('shows a workflow whose commands exist, with their options', async () => {
    const [, workflow = ''] = await blocks('yaml');
    const { jobs } = parse(workflow);
    const runs = jobs.templates.steps.flatMap(({ run: line }: { run?: string }) => line ?? []);
    const commands = [...runs.join('\n').matchAll(/outbox (templates \w+) \.\/templates(?: --(\w+))?/g)];
    expect(commands.map(([, name]) => name)).toEqual([diffTemplatesCommand.name, pushTemplatesCommand.name]);
    expect(commands[1]?.[2]).toBe('publish');
  });
});

describe('the process', () => {
  const cli = (...words: readonly string[]) =>
    new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) => {
      const env = { PATH: process.env.PATH, OUTBOX_URL: now.url, OUTBOX_API_KEY: now.key };
      execFile(process.execPath, ['src/cli/main.ts', 'templates', ...words], { env }, (error, stdout, stderr) =>
        resolve({ code: error?.code ?? 0, stdout, stderr }),
      );
    });

  test('exits with the documented code, and prints text for people, or JSON on demand', async () => {
    await writeWelcome();
    const dry = await cli('push', now.folder, '--dry-run', '--json');
    expect([dry.code, JSON.parse(dry.stdout)]).toEqual([2, [{ template: 'welcome', result: 'to create' }]]);
    expect((await cli('push', now.folder, '--publish')).stdout).toBe('welcome: published as version 1\n');
    expect((await cli('diff', now.folder)).stdout).toBe('no differences\n');
    await write('welcome/template.html', '<p>Hello\n{{ name }}</p>\n');
    await write('welcome/locales/de/text.liquid', 'Willkommen');
    const changes = ['html', '- <p>Welcome', '+ <p>Hello', '  {{ name }}</p>', 'locales.de.text', '+ Willkommen'];
    const told = ['welcome: differs', ...changes.map((line) => `  ${line}`), ''].join('\n');
    expect((await cli('diff', now.folder)).stdout).toBe(told);
    const nowhere = await cli('diff', join(now.folder, 'nowhere'));
    expect([nowhere.code, nowhere.stderr]).toEqual([1, `${join(now.folder, 'nowhere')}: is not a readable folder\n`]);
  });
});
