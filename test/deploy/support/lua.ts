import { LuaFactory, LuaLibraries } from 'wasmoon';

// It keeps the interpreter's compiled code; each run has an interpreter of its own.
const factory = new LuaFactory();

/** What `require` gives in Argo CD, where `os` is no global. */
const own = `do
  local safe = { time = os.time, date = os.date }
  os = nil
  require = function(name)
    if name == "os" then return safe end
    error("module " .. name .. " not found")
  end
end`;

/** Runs a script as Argo CD does: `obj` is the object, and there is no library for strings, files or processes. */
export async function runLua(script: string, object: object): Promise<unknown> {
  const engine = await factory.createEngine({ openStandardLibs: false, enableProxy: false });
  try {
    for (const library of [LuaLibraries.Base, LuaLibraries.Table, LuaLibraries.OS]) engine.global.loadLibrary(library);
    return await engine.doString(`${own}\nobj = ${literal(object)}\n${script}`);
  } finally {
    engine.global.close();
  }
}

/** A value as Lua writes it. */
function literal(value: unknown): string {
  if (value === undefined || value === null) return 'nil';
  if (Array.isArray(value)) return `{${value.map(literal).join(',')}}`;
  if (typeof value === 'object') {
    const fields = Object.entries(value).filter(([, field]) => field !== undefined);
    return `{${fields.map(([name, field]) => `[${literal(name)}]=${literal(field)}`).join(',')}}`;
  }
  if (typeof value === 'string') return `"${[...Buffer.from(value)].map(escaped).join('')}"`;
  return JSON.stringify(value);
}

const escaped = (byte: number) => `\\${String(byte).padStart(3, '0')}`;
