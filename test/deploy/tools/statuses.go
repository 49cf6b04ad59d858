package main

import (
	"context"
	"encoding/json"
	"os"

	fluxstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/runtime/cel"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

type input struct {
	Health      string                           `json:"health"`
	Expressions kustomize.HealthCheckExpressions `json:"expressions"`
	Rows        []struct {
		Name   string          `json:"name"`
		Object json.RawMessage `json:"object"`
	} `json:"rows"`
}

type output struct {
	Name    string `json:"name"`
	Kstatus string `json:"kstatus"`
	Flux    string `json:"flux"`
	Cel     string `json:"cel"`
	Argo    string `json:"argo"`
}

// statuses reads a table of statuses from its input and says what the real tools make of each row: kstatus of kubectl's
// world, kstatus as Flux carries it, Flux's health expressions, and the Lua machine that Argo CD uses.
func statuses([]string) {
	var in input
	check(json.NewDecoder(os.Stdin).Decode(&in))
	evaluator, err := cel.NewStatusEvaluator(&in.Expressions)
	check(err)
	rows := []output{}
	for _, row := range in.Rows {
		object := &unstructured.Unstructured{}
		check(object.UnmarshalJSON(row.Object))
		upstream, err := status.Compute(object)
		check(err)
		flux, err := fluxstatus.Compute(object)
		check(err)
		expressed, err := evaluator.Evaluate(context.Background(), object)
		found := "error"
		if err == nil {
			found = string(expressed.Status)
		}
		rows = append(rows, output{row.Name, string(upstream.Status), string(flux.Status), found, argo(in.Health, object.Object)})
	}
	check(json.NewEncoder(os.Stdout).Encode(rows))
}

// argo runs a health script with the libraries that Argo CD opens for it.
func argo(script string, object map[string]any) string {
	machine := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer machine.Close()
	for _, library := range []struct {
		name string
		open lua.LGFunction
	}{{lua.LoadLibName, lua.OpenPackage}, {lua.BaseLibName, lua.OpenBase}, {lua.TabLibName, lua.OpenTable}} {
		check(machine.CallByParam(lua.P{Fn: machine.NewFunction(library.open), Protect: true}, lua.LString(library.name)))
	}
	machine.SetGlobal("obj", value(machine, object))
	check(machine.DoString(script))
	answer, _ := machine.Get(-1).(*lua.LTable)
	return lua.LVAsString(machine.GetField(answer, "status"))
}

func value(machine *lua.LState, from any) lua.LValue {
	switch from := from.(type) {
	case map[string]any:
		table := machine.NewTable()
		for name, field := range from {
			table.RawSetString(name, value(machine, field))
		}
		return table
	case []any:
		table := machine.NewTable()
		for _, item := range from {
			table.Append(value(machine, item))
		}
		return table
	case string:
		return lua.LString(from)
	case int64:
		return lua.LNumber(from)
	case float64:
		return lua.LNumber(from)
	case bool:
		return lua.LBool(from)
	}
	return lua.LNil
}
