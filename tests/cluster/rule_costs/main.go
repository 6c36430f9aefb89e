// Command rule_costs says what each validation rule of a definition costs the API server, by the API server's own code.
//
// It reads a definition and objects from its input and writes microseconds of processor and allocations, for all rules
// together and, with -each, for each alone.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"syscall"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	numbers "k8s.io/apimachinery/pkg/util/json"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
)

const (
	rounds = 5
	batch  = 20
	// Processor seconds of a round, at least.
	roundSeconds = 0.02
)

// Object is a stored object; its whole numbers are int64, as in the API server.
type Object map[string]any

// UnmarshalJSON reads an object.
func (o *Object) UnmarshalJSON(text []byte) error {
	found := map[string]any{}
	err := numbers.Unmarshal(text, &found)
	*o = found
	return err
}

type input struct {
	Definition v1.CustomResourceDefinition `json:"definition"`
	Version    string                      `json:"version"`
	Old        Object                      `json:"old"`
	Changed    Object                      `json:"changed"`
	Status     Object                      `json:"status"`
}

// Cost is what one evaluation takes.
type Cost struct {
	Microseconds float64 `json:"microseconds"`
	Allocations  int64   `json:"allocations"`
}

type row struct {
	Place  string `json:"place"`
	Rule   string `json:"rule"`
	Create Cost   `json:"create"`
	Update Cost   `json:"update"`
	Status Cost   `json:"status"`
}

func main() {
	each := flag.Bool("each", false, "also measure each rule alone")
	flag.Parse()
	if err := run(*each); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(each bool) error {
	var in input
	if err := json.NewDecoder(os.Stdin).Decode(&in); err != nil {
		return err
	}
	whole, err := structural(in)
	if err != nil {
		return err
	}
	rows := []row{}
	add := func(at, name string, schema *schema.Structural) error {
		found := row{Place: at, Rule: name}
		for _, write := range []struct {
			cost     *Cost
			old, new Object
		}{{&found.Create, nil, in.Old}, {&found.Update, in.Old, in.Changed}, {&found.Status, in.Old, in.Status}} {
			if *write.cost, err = measure(schema, write.old, write.new); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		rows = append(rows, found)
		return nil
	}
	if err := add("", "all", whole); err != nil {
		return err
	}
	if !each {
		return json.NewEncoder(os.Stdout).Encode(rows)
	}
	places := map[string]v1.ValidationRules{}
	order := []string{}
	walk("", whole, func(at string, node *schema.Structural) {
		if len(node.XValidations) > 0 {
			places[at] = node.XValidations
			order = append(order, at)
		}
	})
	slices.Sort(order)
	for _, at := range order {
		for index, rule := range places[at] {
			one, err := structural(in)
			if err != nil {
				return err
			}
			walk("", one, func(place string, node *schema.Structural) {
				kept := v1.ValidationRules{}
				if place == at {
					kept = append(kept, node.XValidations[index])
				}
				node.XValidations = kept
			})
			if err := add(at, rule.Message, one); err != nil {
				return err
			}
		}
	}
	return json.NewEncoder(os.Stdout).Encode(rows)
}

func structural(in input) (*schema.Structural, error) {
	for _, version := range in.Definition.Spec.Versions {
		if version.Name != in.Version {
			continue
		}
		var props apiextensions.JSONSchemaProps
		if err := v1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(version.Schema.OpenAPIV3Schema, &props, nil); err != nil {
			return nil, err
		}
		return schema.NewStructural(&props)
	}
	return nil, fmt.Errorf("the definition has no version %s", in.Version)
}

// walk visits a schema and all below it; what visit changes stays changed.
func walk(at string, node *schema.Structural, visit func(string, *schema.Structural)) {
	visit(at, node)
	for name, property := range node.Properties {
		walk(at+"."+name, &property, visit)
		node.Properties[name] = property
	}
	if node.Items != nil {
		walk(at+"[]", node.Items, visit)
	}
	if node.AdditionalProperties != nil && node.AdditionalProperties.Structural != nil {
		walk(at+".*", node.AdditionalProperties.Structural, visit)
	}
}

func measure(of *schema.Structural, old, new Object) (Cost, error) {
	validator := cel.NewValidator(of, true, celconfig.PerCallLimit)
	evaluate := func() error {
		var before any
		options := []cel.Option{}
		if old != nil {
			before = map[string]any(old)
			correlated := common.NewCorrelatedObject(map[string]any(new), before, &model.Structural{Structural: of})
			options = append(options, cel.WithRatcheting(correlated))
		}
		errs, _ := validator.Validate(context.Background(), nil, of, map[string]any(new), before, celconfig.RuntimeCELCostBudget, options...)
		return errs.ToAggregate()
	}
	if err := evaluate(); err != nil {
		return Cost{}, err
	}
	least := Cost{Microseconds: 1e12}
	for range rounds {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		count, started := 0, processorSeconds()
		for processorSeconds()-started < roundSeconds {
			for range batch {
				_ = evaluate() // it held above
			}
			count += batch
		}
		spent := processorSeconds() - started
		runtime.ReadMemStats(&after)
		if one := spent / float64(count) * 1e6; one < least.Microseconds {
			least = Cost{Microseconds: one, Allocations: int64(after.Mallocs-before.Mallocs) / int64(count)}
		}
	}
	return least, nil
}

func processorSeconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err) // it fails only for a wrong argument
	}
	return float64(usage.Utime.Sec+usage.Stime.Sec) + float64(usage.Utime.Usec+usage.Stime.Usec)/1e6
}
