import { execFile, execFileSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { folderForTest, placeForTest, programForTest } from '../support/place-for-test.ts';

/** Exact, so that a new version of the generator is a change of this file. */
const VERSION = '14.7.1';
const PAGE = new URL('../../docs/generated-clients.md', import.meta.url);
const GENERATE =
  '/classname:OutboxClient /namespace:Outbox /JsonLibrary:SystemTextJson /GenerateNullableReferenceTypes:true ' +
  '/GenerateOptionalPropertiesAsNullable:true /input:openapi.json /output:Outbox.cs';
/** Installing a tool, and compiling 50,000 lines, on a machine that does other things too. */
const MS_MAX = 600_000;

/** .NET is not a Debian package: `.ci/run` leaves this file out where it is not installed. */
const isMissing = (): boolean => {
  try {
    execFileSync('dotnet', ['--version'], { stdio: 'ignore' });
    return false;
  } catch {
    return true;
  }
};

const PROJECT = `<Project Sdk="Microsoft.NET.Sdk">
  <PropertyGroup>
    <OutputType>Exe</OutputType>
    <TargetFramework>net$(BundledNETCoreAppTargetFrameworkVersion)</TargetFramework>
    <Nullable>enable</Nullable>
    <ImplicitUsings>enable</ImplicitUsings>
    <TreatWarningsAsErrors>true</TreatWarningsAsErrors>
  </PropertyGroup>
</Project>
`;

const PROGRAM = `using Outbox;

using var http = new HttpClient();
http.DefaultRequestHeaders.Authorization = new("Bearer", System.Environment.GetEnvironmentVariable("OUTBOX_KEY"));
var outbox = new OutboxClient(http) { BaseUrl = System.Environment.GetEnvironmentVariable("OUTBOX_URL")! };

var mail = new SendMessageRequest { From = "hello@example.test", To = ["you@example.net"], Subject = "Your order", Text = "Thank you." };
var sent = await outbox.SendMessageAsync("order-2", mail);
var read = await outbox.GetMessageAsync(sent.Id, null);
var repeated = await outbox.SendMessageAsync("order-2", mail);
var events = await outbox.ListMessageEventsAsync(sent.Id, null, null);
try
{
    await outbox.GetMessageAsync("none", null);
}
catch (ApiException<Error> error)
{
    Console.WriteLine($"{read.Id == sent.Id} {read.Subject} {read.Content} {repeated.Id == sent.Id} {events.Data.Count > 0} {error.Result.Error1.Code}");
}
`;

test.skipIf(isMissing())(
  'NSwag generates a C# client that compiles without warnings, sends a message and reads it back',
  async () => {
    expect(await readFile(PAGE, 'utf8')).toContain(`| \`NSwag\` | C# | ${VERSION} |`);
    const folder = await folderForTest();
    const inFolder = async (program: string, options: readonly string[], env: NodeJS.ProcessEnv = {}) =>
      (await promisify(execFile)(program, options, { cwd: folder, env: { ...process.env, ...env } })).stdout;
    await inFolder('dotnet', ['tool', 'install', 'NSwag.ConsoleCore', '--version', VERSION, '--tool-path', 'tools']);
    const { baseUrl, keys } = await programForTest(await placeForTest());
    await writeFile(join(folder, 'openapi.json'), await (await fetch(`${baseUrl}/openapi.json`)).text());
    await writeFile(join(folder, 'program.csproj'), PROJECT);
    await writeFile(join(folder, 'Program.cs'), PROGRAM);
    await inFolder(join(folder, 'tools', 'nswag'), ['openapi2csclient', ...GENERATE.split(' ')]);
    await inFolder('dotnet', ['build', '--output', 'built']);
    const shown = await inFolder('dotnet', [join('built', 'program.dll')], {
      OUTBOX_URL: baseUrl,
      OUTBOX_KEY: keys.live,
    });
    expect(shown).toBe('True Your order Stored True True Not_found\n');
  },
  MS_MAX,
);
